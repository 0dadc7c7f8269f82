package conversion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// reviewOf is a request body with objects as the API server sends it.
func reviewOf(desired string, objects ...[]byte) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]}}`+"\n",
		desired, bytes.Join(objects, []byte(",")))
}

func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/convert", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}

// answered decodes an answer the way the API server does.
func answered(t testing.TB, w *httptest.ResponseRecorder) *apiextensionsv1.ConversionResponse {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("status %d, %v: %s", w.Code, w.Header(), w.Body)
	}
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if review.Kind != "ConversionReview" || review.Response == nil || review.Request != nil {
		t.Fatalf("not an answer: %s", w.Body)
	}
	return review.Response
}

// TestOneBadObjectAmong500 is C-29.
func TestOneBadObjectAmong500(t *testing.T) {
	registry := prometheus.NewRegistry()
	h := NewHandler(HandlerOptions{Registerer: registry})
	r := newRandom(t)
	objects := make([][]byte, 500)
	for i := range objects {
		objects[i] = r.object(standard.all[0], hubVersion, 0)
		for degrades(t, objects[i]) {
			objects[i] = r.object(standard.all[0], hubVersion, 0)
		}
	}
	objects[250] = object("WebApp", hubVersion, `{"metadata":7,"spec":{"image":{},"env":5,"replicas":[],"autoscaling":"x","probes":9,"resources":true,"automountServiceAccountToken":"yes"},"status":"bad"}`)
	response := answered(t, post(h, reviewOf("app.example.com/v1alpha1", objects...)))
	if response.UID != "u-1" || response.Result.Status != metav1.StatusSuccess || len(response.ConvertedObjects) != 500 {
		t.Fatalf("uid %q, %v, %d objects", response.UID, response.Result, len(response.ConvertedObjects))
	}
	for i, converted := range response.ConvertedObjects {
		if alone := mustConvert(t, objects[i], "WebApp", "v1alpha1").Object; !bytes.Equal(alone, converted.Raw) {
			t.Fatalf("object %d: %s, alone: %s", i, converted.Raw, alone)
		}
	}
	if n := testutil.ToFloat64(h.(*handler).metrics.quarantined.WithLabelValues("WebApp", "v1", "v1alpha1")); n != 1 {
		t.Errorf("quarantined: %v", n)
	}
	if n := testutil.CollectAndCount(h.(*handler).metrics.duration); n != 1 {
		t.Errorf("durations: %d series", n)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("metrics: %v, %v", problems, err)
	}
}

// degrades reports whether an object has values that cannot be read.
func degrades(t *testing.T, object []byte) bool {
	return len(mustConvert(t, object, "WebApp", "v1alpha1").Quarantined) > 0
}

// TestReview is C-30: the review itself.
func TestReview(t *testing.T) {
	webApp := object("WebApp", hubVersion, `{"metadata":{"name":"x"},"spec":{"replicas":2}}`)
	good := reviewOf("app.example.com/v1alpha1", webApp)
	cases := map[string]struct {
		body        []byte
		status      int
		result      string
		message     []string
		objects     int
		contentType string
	}{
		"no objects":        {body: reviewOf("app.example.com/v1"), result: "Success"},
		"objects absent":    {body: bytes.Replace(good, []byte(`"objects"`), []byte(`"other"`), 1), result: "Success"},
		"one object":        {body: good, result: "Success", objects: 1},
		"with a charset":    {body: good, result: "Success", objects: 1, contentType: "application/json; charset=utf-8"},
		"the same version":  {body: reviewOf("app.example.com/v1", webApp), result: "Success", objects: 1},
		"objects first":     {body: []byte(`{"request":{"objects":[` + string(webApp) + `],"desiredAPIVersion":"app.example.com/v1alpha1","uid":"u-1"},"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`), result: "Success", objects: 1},
		"white space":       {body: bytes.ReplaceAll(good, []byte(`,"`), []byte(" ,\n\t\"")), result: "Success", objects: 1},
		"unknown version":   {body: reviewOf("app.example.com/v9", webApp), result: "Failure", message: []string{"object 0", "app.example.com/v9"}},
		"foreign kind":      {body: reviewOf("apps/v1", []byte(`{"apiVersion":"apps/v1beta1","kind":"Deployment"}`)), result: "Failure", message: []string{"Deployment", "apps/v1beta1"}},
		"second is foreign": {body: reviewOf("app.example.com/v1alpha1", webApp, []byte(`{"apiVersion":"a/v1","kind":"B"}`)), result: "Failure", message: []string{"object 1", "B of a/v1"}},
		"other group":       {body: reviewOf("batch.example.com/v1alpha1", webApp), result: "Failure", message: []string{"batch.example.com/v1alpha1"}},
		"not an object":     {body: reviewOf("app.example.com/v1", []byte(`7`)), result: "Failure", message: []string{"object 0"}},
		"nothing in it":     {body: reviewOf("app.example.com/v1", []byte(`{}`)), result: "Failure", message: []string{"object 0", "apiVersion"}},
		"v1beta1":           {body: bytes.Replace(good, []byte("apiextensions.k8s.io/v1"), []byte("apiextensions.k8s.io/v1beta1"), 1), result: "Failure", message: []string{"apiextensions.k8s.io/v1beta1"}},
		"truncated":         {body: good[:len(good)/2], status: 400},
		"empty":             {body: nil, status: 400},
		"no request":        {body: []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1"}`), status: 400},
		"a list":            {body: []byte(`[]`), status: 400},
		"two documents":     {body: append(bytes.Clone(good), good...), status: 400},
		"uid no text":       {body: bytes.Replace(good, []byte(`"u-1"`), []byte(`[]`), 1), status: 400},
		"version no text":   {body: []byte(`{"apiVersion":7,"request":{"uid":"u-1"}}`), result: "Failure", message: []string{"7"}},
		"objects no list":   {body: bytes.Replace(good, []byte(`[`), []byte(`7,"x":[`), 1), status: 400},
		"no content type":   {body: good, status: 415, contentType: " "},
		"protobuf":          {body: good, status: 415, contentType: "application/vnd.kubernetes.protobuf"},
		"too large":         {body: append(bytes.Clone(good), bytes.Repeat([]byte(" "), 1<<20)...), status: 413},
	}
	h := NewHandler(HandlerOptions{MaxBodyBytes: 1 << 20})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodPost, "/convert", bytes.NewReader(c.body))
			req.Header.Set("Content-Type", "application/json")
			if c.contentType != "" {
				req.Header.Set("Content-Type", strings.TrimSpace(c.contentType))
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			if c.status != 0 {
				if w.Code != c.status {
					t.Errorf("status %d, want %d", w.Code, c.status)
				}
				return
			}
			response := answered(t, w)
			if contentType := w.Header().Get("Content-Type"); contentType != "application/json" {
				t.Errorf("content type %q", contentType)
			}
			if response.UID != "u-1" || response.Result.Status != c.result || len(response.ConvertedObjects) != c.objects {
				t.Errorf("got %s", w.Body)
			}
			if c.result == "Success" && response.ConvertedObjects == nil {
				t.Errorf("no list of objects: %s", w.Body)
			}
			for _, part := range c.message {
				if !strings.Contains(response.Result.Message, part) {
					t.Errorf("message %q does not name %q", response.Result.Message, part)
				}
			}
		})
	}
}

// TestTooLargeWithoutLength: a body of unknown length is cut off at the limit.
func TestTooLargeWithoutLength(t *testing.T) {
	h := NewHandler(HandlerOptions{MaxBodyBytes: 1000})
	req := httptest.NewRequest(http.MethodPost, "/convert", io.MultiReader(bytes.NewReader(reviewOf("app.example.com/v1")), strings.NewReader(strings.Repeat(" ", 1000))))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	if w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d", w.Code)
	}
}

func TestMethod(t *testing.T) {
	w := httptest.NewRecorder()
	NewHandler(HandlerOptions{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/convert", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("status %d", w.Code)
	}
}

// TestBoundedInFlight: what is beyond the bound is told to come back, and comes back with success once there is room.
func TestBoundedInFlight(t *testing.T) {
	h := newHandler(HandlerOptions{MaxBodyBytes: 1 << 20, MaxInFlightBytes: 1 << 20}, standard)
	body, feed := io.Pipe()
	done := make(chan int)
	go func() {
		req := httptest.NewRequest(http.MethodPost, "/convert", body)
		req.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		done <- w.Code
	}()
	if _, err := feed.Write([]byte(" ")); err != nil { // returns once the handler reads
		t.Fatal(err)
	}
	refused := post(h, reviewOf("app.example.com/v1"))
	if refused.Code != http.StatusServiceUnavailable || refused.Header().Get("Retry-After") == "" {
		t.Errorf("status %d, headers %v", refused.Code, refused.Header())
	}
	if _, err := feed.Write(reviewOf("app.example.com/v1")); err != nil {
		t.Fatal(err)
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if code := <-done; code != http.StatusOK {
		t.Errorf("first: status %d", code)
	}
	if again := post(h, reviewOf("app.example.com/v1")); again.Code != http.StatusOK {
		t.Errorf("again: status %d", again.Code)
	}
	if n := testutil.ToFloat64(h.metrics.refused.WithLabelValues("503")); n != 1 {
		t.Errorf("refused: %v", n)
	}
}

// TestExpandingBodies: many small annotations that expand to much together cannot take more memory than the bound.
func TestExpandingBodies(t *testing.T) {
	bomb := packed([]byte(`{"args":["`+strings.Repeat("x", expandedLimit-20)+`"]}`), 0)
	view := object("WebApp", "v1alpha1", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{}}`, workloadv1.AnnotationV1Fields, bomb))
	h := newHandler(HandlerOptions{MaxBodyBytes: 4 << 20, MaxInFlightBytes: 8 << 20}, standard)
	if few := post(h, reviewOf("app.example.com/v1", view, view)); len(answered(t, few).ConvertedObjects) != 2 {
		t.Errorf("two objects: %.200s", few.Body)
	}
	many := post(h, reviewOf("app.example.com/v1", slices.Repeat([][]byte{view}, 500)...))
	if many.Code != http.StatusServiceUnavailable || many.Header().Get("Retry-After") == "" {
		t.Errorf("many objects: status %d, %d bytes", many.Code, many.Body.Len())
	}
	if !h.inFlight.TryAcquire(8 << 20) {
		t.Error("not all is given back")
	}
}

// TestSlowBody: a client that does not send its body does not hold a place for ever.
func TestSlowBody(t *testing.T) {
	server := httptest.NewServer(NewHandler(HandlerOptions{ReadTimeout: 50 * time.Millisecond}))
	defer server.Close()
	body, feed := io.Pipe()
	defer feed.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusRequestTimeout {
		t.Errorf("status %d", response.StatusCode)
	}
}

// TestPanic: a mistake of ours in one object fails its review with a message, and nothing else.
func TestPanic(t *testing.T) {
	broken := table{kind: webApp.kind, version: "v1alpha1", rows: []row{{"spec.image", "spec.image", scalar("broken",
		func([]byte, []byte) ([]byte, string) { panic(errors.New("mistake")) }, invert), ""}}}
	h := newHandler(HandlerOptions{}, newConverter(&broken, &podSet))
	response := answered(t, post(h, reviewOf("app.example.com/v1alpha1", object("WebApp", hubVersion, `{"spec":{"image":"x"}}`))))
	if response.Result.Status != metav1.StatusFailure || !strings.Contains(response.Result.Message, "mistake") {
		t.Errorf("got %v", response.Result)
	}
	response = answered(t, post(h, reviewOf("batch.example.com/v1alpha1", object("PodSet", hubVersion, `{}`))))
	if response.Result.Status != metav1.StatusSuccess {
		t.Errorf("got %v", response.Result)
	}
	if n := testutil.ToFloat64(h.metrics.panics); n != 1 {
		t.Errorf("panics: %v", n)
	}
}

// TestHandlersShareMetrics: a second handler on the same registry counts into the same metrics.
func TestHandlersShareMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, second := newHandler(HandlerOptions{Registerer: registry}, standard), newHandler(HandlerOptions{Registerer: registry}, standard)
	post(first, nil)
	post(second, nil)
	if n := testutil.ToFloat64(second.metrics.refused.WithLabelValues("400")); n != 2 {
		t.Errorf("refused: %v", n)
	}
}
