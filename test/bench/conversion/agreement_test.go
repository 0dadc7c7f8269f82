package conversion_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	appv1alpha1 "github.com/example/workload-operator/apis/app/v1alpha1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// TestAgreesWithStock: where conversion between structs loses nothing, the handler's answers are those of controller-runtime's.
func TestAgreesWithStock(t *testing.T) {
	ours, stock := conversion.NewHandler(conversion.HandlerOptions{}), stockHandler(t)
	for i := range 50 {
		for _, from := range []string{"v1", "v1alpha1"} {
			body := reviewOf("app.example.com/"+otherVersion(from), realistic(from, i))
			a, b := answered(t, ours, body), answered(t, stock, body)
			if a.UID != b.UID || a.Result.Status != b.Result.Status || len(a.ConvertedObjects) != len(b.ConvertedObjects) {
				t.Fatalf("ours %v, stock %v", a.Result, b.Result)
			}
			if diff := cmp.Diff(throughStruct(t, from, b.ConvertedObjects[0].Raw), throughStruct(t, from, a.ConvertedObjects[0].Raw)); diff != "" {
				t.Errorf("from %s (-stock +ours):\n%s", from, diff)
			}
		}
	}
}

// throughStruct is an object as a client with structs sees it, without what conversion keeps and the API server restores.
func throughStruct(t *testing.T, from string, object []byte) map[string]any {
	t.Helper()
	var typed any = new(appv1alpha1.WebApp)
	if from != "v1" {
		typed = new(appv1.WebApp)
	}
	if err := json.Unmarshal(object, typed); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(out, &value); err != nil {
		t.Fatal(err)
	}
	metadata := value["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, workloadv1.AnnotationV1Fields)
		delete(annotations, workloadv1.AnnotationUnconvertible)
	}
	return value
}

// answered posts a body and decodes the answer the way the API server does.
func answered(t *testing.T, h http.Handler, body []byte) *apiextensionsv1.ConversionResponse {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/convert", bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	var review apiextensionsv1.ConversionReview
	if err := json.Unmarshal(w.Body.Bytes(), &review); err != nil || review.Response == nil {
		t.Fatalf("status %d, %v: %s", w.Code, err, w.Body)
	}
	return review.Response
}
