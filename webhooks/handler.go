package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// maxBodyBytes bounds what is read. The API server accepts objects of up to 3 MiB and sends two of them, old and new, with a
// little around them.
const maxBodyBytes = 7 << 20

// review answers one request. An error says that it could not be answered, which is not a refusal.
type review func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error)

// handler serves one webhook.
//
// A failure of ours, be it an error or a panic, is answered with an HTTP error and never with a verdict, so that the
// failurePolicy of the webhook decides. That is why it does not build on controller-runtime's handler, which turns such a
// failure into a refusal.
type handler struct {
	// name of the webhook in metrics and logs, for example validate-webapp.
	name   string
	review review
}

var _ http.Handler = handler{}

// ServeHTTP answers an AdmissionReview.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	answer, err := h.answer(w, r)
	if err != nil {
		observe(h.name, verdictFailed, start)
		logf.FromContext(r.Context()).WithName("admission").Error(err, "Request not answered", "webhook", h.name, "stack", stackOf(err))
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	observe(h.name, verdictOf(answer), start)
	warningsGiven.WithLabelValues(h.name).Add(float64(len(answer.Warnings)))
	w.Header().Set("Content-Type", "application/json")
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Response: answer,
	}
	if err := json.NewEncoder(w).Encode(review); err != nil {
		// The connection is gone. The API server sees a failed call.
		logf.FromContext(r.Context()).WithName("admission").V(1).Info("Answer not delivered", "webhook", h.name, "error", err.Error())
	}
}

// answer recovers from panics, so that one object cannot take the operator down with it.
func (h handler) answer(w http.ResponseWriter, r *http.Request) (response *admissionv1.AdmissionResponse, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			panics.WithLabelValues(h.name).Inc()
			response, err = nil, recovered{cause: cause, stack: debug.Stack()}
		}
	}()
	request, err := decodeRequest(w, r)
	if err != nil {
		return nil, err
	}
	response, err = h.review(r.Context(), request)
	if err != nil {
		return nil, fmt.Errorf("reviewing %s %s/%s: %w", request.Kind.Kind, request.Namespace, request.Name, err)
	}
	response.UID = request.UID
	return response, nil
}

func decodeRequest(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionRequest, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return nil, badRequest{http.StatusUnsupportedMediaType, errors.New("the content type must be application/json")}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, badRequest{http.StatusRequestEntityTooLarge, fmt.Errorf("the body is larger than %d bytes", tooLarge.Limit)}
	}
	if err != nil {
		return nil, badRequest{http.StatusBadRequest, fmt.Errorf("reading the body: %w", err)}
	}
	review := admissionv1.AdmissionReview{}
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, badRequest{http.StatusBadRequest, fmt.Errorf("decoding the AdmissionReview: %w", err)}
	}
	if review.Request == nil {
		return nil, badRequest{http.StatusBadRequest, errors.New("the AdmissionReview has no request")}
	}
	return review.Request, nil
}

// badRequest is a fault of the caller.
type badRequest struct {
	status int
	error
}

// recovered is a panic of ours. Its stack is for the log, not for the answer.
type recovered struct {
	cause any
	stack []byte
}

func (r recovered) Error() string {
	return fmt.Sprintf("panic: %v", r.cause)
}

func stackOf(err error) string {
	if r := (recovered{}); errors.As(err, &r) {
		return string(r.stack)
	}
	return ""
}

func statusOf(err error) int {
	if bad := (badRequest{}); errors.As(err, &bad) {
		return bad.status
	}
	return http.StatusInternalServerError
}
