package webhooks

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

func allow(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	return &admissionv1.AdmissionResponse{Allowed: true}, nil
}

func TestHandlerAnswers(t *testing.T) {
	answer := post(t, handler{name: "test", review: allow}, "application/json; charset=utf-8", `{"request": {"uid": "u"}}`)
	want := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"u","allowed":true}}`
	if got := strings.TrimSpace(answer.Body.String()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A failure of ours is a failed call, never a verdict, so that the failurePolicy decides.
func TestHandlerFails(t *testing.T) {
	fail := func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return nil, errors.New("no idea")
	}
	crash := func(context.Context, *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
		return nil, nil // which the handler cannot cope with
	}
	tests := map[string]struct {
		review      review
		contentType string
		body        string
		status      int
		text        string
	}{
		"error":        {fail, "application/json", `{"request": {}}`, http.StatusInternalServerError, "no idea"},
		"panic":        {crash, "application/json", `{"request": {}}`, http.StatusInternalServerError, "panic: runtime error"},
		"content type": {allow, "application/yaml", `{}`, http.StatusUnsupportedMediaType, "application/json"},
		"truncated":    {allow, "application/json", `{"request": {`, http.StatusBadRequest, "decoding"},
		"no request":   {allow, "application/json", `{}`, http.StatusBadRequest, "no request"},
		"empty":        {allow, "application/json", ``, http.StatusBadRequest, "decoding"},
		"too large":    {allow, "application/json", `{"request": "` + strings.Repeat("x", maxBodyBytes) + `"}`, http.StatusRequestEntityTooLarge, "larger than"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answer := post(t, handler{name: "test-" + name, review: test.review}, test.contentType, test.body)
			text := answer.Body.String()
			if answer.Code != test.status || !strings.Contains(text, test.text) || strings.Contains(text, "goroutine") {
				t.Errorf("got %d %s, want %d with %q and no stack", answer.Code, text, test.status, test.text)
			}
		})
	}
	if got := testutil.ToFloat64(panics.WithLabelValues("test-panic")); got != 1 {
		t.Errorf("%v panics counted, want 1", got)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		if err := registerMetrics(registry); err != nil {
			t.Fatal(err)
		}
	}
	durations.Reset()
	post(t, handler{name: "m", review: allow}, "application/json", `{"request": {}}`)
	post(t, handler{name: "m", review: allow}, "application/json", `{`)
	if diff := cmp.Diff(map[string]uint64{"m": 2}, calls(t)); diff != "" {
		t.Error(diff)
	}
	if got := testutil.CollectAndCount(durations); got != 2 { // allowed and failed
		t.Errorf("%d series, want 2", got)
	}
}

// calls counts the answers of each webhook.
func calls(t testing.TB) map[string]uint64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(durations)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "webhook" {
					counts[label.GetValue()] += metric.GetHistogram().GetSampleCount()
				}
			}
		}
	}
	return counts
}

// A refusal is a status like that of a built-in kind: one cause for each error.
func TestReview(t *testing.T) {
	object := base(t, webApp.WithVersion("v1"), `{"spec": {"image": "Web App", "nodeSelector": {"a b": "c"}}}`)
	response, err := rules(t).review(t.Context(), requestFor(webApp, "v1", object, nil))
	if err != nil {
		t.Fatal(err)
	}
	status := response.Result
	if response.Allowed || status == nil || status.Code != http.StatusUnprocessableEntity || status.Reason != metav1.StatusReasonInvalid {
		t.Fatalf("got %+v", response)
	}
	var fields []string
	for _, cause := range status.Details.Causes {
		fields = append(fields, cause.Field)
	}
	if diff := cmp.Diff([]string{"spec.image", "spec.nodeSelector"}, fields); diff != "" {
		t.Error(diff)
	}
	if status.Details.Kind != "WebApp" || status.Details.Group != "app.example.com" || status.Details.Name != "web" {
		t.Errorf("details are %+v", status.Details)
	}
}

func TestMutate(t *testing.T) {
	object := base(t, webApp.WithVersion("v1"), `{"spec": {"probes": {"readiness": {"httpGet": {"port": null}}}}}`)
	response, err := mutate(t.Context(), requestFor(webApp, "v1", object, nil))
	if err != nil || !response.Allowed || *response.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Fatalf("got %+v, %v", response, err)
	}
	if want := `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":80}]`; string(response.Patch) != want {
		t.Errorf("got %s, want %s", response.Patch, want)
	}
	response, err = mutate(t.Context(), requestFor(webApp, "v1", base(t, webApp.WithVersion("v1")), nil))
	if err != nil || response.Patch != nil || response.PatchType != nil {
		t.Errorf("got %+v, %v", response, err)
	}
}

// Requests that are not for us are a mistake in a configuration, not a verdict.
func TestForeignRequests(t *testing.T) {
	object := base(t, webApp.WithVersion("v1"))
	tests := map[string]*admissionv1.AdmissionRequest{
		"foreign kind":  requestFor(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "v1", object, nil),
		"no object":     requestFor(webApp, "v1", nil, nil),
		"no old object": requestFor(webApp, "v1", object, nil),
		"older version": requestFor(webApp, "v1", object, nil),
	}
	tests["no old object"].Operation = admissionv1.Update
	tests["older version"].Kind.Version = "v1alpha1"
	for name, request := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := mutate(t.Context(), request); err == nil {
				t.Errorf("mutate: %+v", got)
			}
			if got, err := rules(t).review(t.Context(), request); err == nil {
				t.Errorf("review: %+v", got)
			}
		})
	}
}

// requestFor is what the API server sends for a write in a version.
func requestFor(gk schema.GroupKind, version string, object, old []byte) *admissionv1.AdmissionRequest {
	request := &admissionv1.AdmissionRequest{
		UID:         types.UID("u"),
		Kind:        metav1.GroupVersionKind{Group: gk.Group, Version: "v1", Kind: gk.Kind},
		RequestKind: &metav1.GroupVersionKind{Group: gk.Group, Version: version, Kind: gk.Kind},
		Operation:   admissionv1.Create,
		Object:      runtime.RawExtension{Raw: object},
	}
	if old != nil {
		request.Operation, request.OldObject.Raw = admissionv1.Update, old
	}
	return request
}

func post(t testing.TB, h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)).WithContext(t.Context())
	request.Header.Set("Content-Type", contentType)
	h.ServeHTTP(recorder, request)
	return recorder
}
