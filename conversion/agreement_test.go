package conversion

import (
	"encoding/json"
	"testing"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	appv1alpha1 "github.com/example/workload-operator/apis/app/v1alpha1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestAgreesWithStock: where conversion between structs loses nothing, the handler's answers are those of controller-runtime's.
func TestAgreesWithStock(t *testing.T) {
	ours, stock := NewHandler(HandlerOptions{}), stockHandler(t)
	for i := range 50 {
		for _, from := range []string{hubVersion, "v1alpha1"} {
			body := reviewOf("app.example.com/"+otherVersion(from), realistic(from, i))
			a, b := answered(t, post(ours, body)), answered(t, post(stock, body))
			if a.UID != b.UID || a.Result.Status != b.Result.Status || len(a.ConvertedObjects) != len(b.ConvertedObjects) {
				t.Fatalf("ours %v, stock %v", a.Result, b.Result)
			}
			equalJSON(t, from, throughStruct(t, from, b.ConvertedObjects[0].Raw), throughStruct(t, from, a.ConvertedObjects[0].Raw))
		}
	}
}

// throughStruct is an object as a client with structs sees it, without what conversion keeps and the API server restores.
func throughStruct(t *testing.T, from string, object []byte) []byte {
	t.Helper()
	var typed any = new(appv1alpha1.WebApp)
	if from != hubVersion {
		typed = new(appv1.WebApp)
	}
	if err := json.Unmarshal(object, typed); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(typed)
	if err != nil {
		t.Fatal(err)
	}
	return edited(t, out, remove("metadata|managedFields"), remove(keptAt), func(o map[string]any) {
		takeAnnotation(o, workloadv1.AnnotationUnconvertible)
	})
}
