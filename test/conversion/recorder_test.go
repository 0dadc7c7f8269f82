package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recorder answers with the handler and remembers what was out of the ordinary.
type recorder struct {
	handler http.Handler

	mu      sync.Mutex
	objects int      // of all reviews
	largest int      // objects of a review
	partial [][]byte // reviews with an object that has no metadata
	failed  []string // reviews that did not succeed
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	r.handler.ServeHTTP(answer, request)
	if request.Context().Err() == nil { // else nobody waits for the answer
		r.remember(body, answer)
	}
	w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()) // the client is gone if it fails
}

func (r *recorder) remember(body []byte, answer *httptest.ResponseRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent, err := converted(body, answer)
	r.objects += len(sent)
	r.largest = max(r.largest, len(sent))
	if err != nil {
		r.failed = append(r.failed, err.Error())
		return
	}
	if slices.ContainsFunc(sent, func(o member) bool { return o.Metadata == nil }) {
		r.partial = append(r.partial, body)
	}
}

// member is what matters of an object in a review.
type member struct {
	APIVersion string          `json:"apiVersion"`
	Metadata   json.RawMessage `json:"metadata"`
}

// converted returns the objects of a review. It is an error unless each was answered, in order, in the version asked for
// and with metadata.
func converted(body []byte, answer *httptest.ResponseRecorder) ([]member, error) {
	var asked struct {
		Request struct {
			DesiredAPIVersion string   `json:"desiredAPIVersion"`
			Objects           []member `json:"objects"`
		} `json:"request"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return nil, err
	}
	sent := asked.Request.Objects
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil {
		return sent, fmt.Errorf("answer %d: %w", answer.Code, err)
	}
	if review.Response == nil || review.Response.Result.Status != metav1.StatusSuccess || len(review.Response.ConvertedObjects) != len(sent) {
		return sent, fmt.Errorf("of %d objects to %s: %s", len(sent), asked.Request.DesiredAPIVersion, answer.Body)
	}
	for _, raw := range review.Response.ConvertedObjects {
		var object member
		if err := json.Unmarshal(raw.Raw, &object); err != nil {
			return sent, fmt.Errorf("answer with %s: %w", raw.Raw, err)
		}
		if object.APIVersion != asked.Request.DesiredAPIVersion || object.Metadata == nil {
			return sent, fmt.Errorf("answer in another version or without metadata: %s", raw.Raw)
		}
	}
	return sent, nil
}

// partials are the reviews so far that had an object without metadata.
func (r *recorder) partials() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.partial)
}

// verdict is what went wrong so far, and the size of the largest review.
func (r *recorder) verdict() (failed []string, largest int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failed), r.largest
}

// count is how many objects were converted so far.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.objects
}
