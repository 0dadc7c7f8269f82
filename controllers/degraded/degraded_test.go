package degraded

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// TestCondition: values that could not be read are shown, other spellings are not.
func TestCondition(t *testing.T) {
	webApp := schema.GroupVersionKind{Group: "app.example.com", Version: "v1", Kind: "WebApp"}
	podSet := schema.GroupVersionKind{Group: "batch.example.com", Version: "v1", Kind: "PodSet"}
	cases := map[string]struct {
		reason  string
		kind    schema.GroupVersionKind
		older   string // spec in v1alpha1
		mention []string
	}{
		"Readable":   {"nothing waits", podSet, `{"size":2,"container":{"image":"web"}}`, nil},
		"Spelling":   {"two minutes are read, only said otherwise", podSet, `{"readyAfter":"2m","container":{"image":"web"}}`, nil},
		"Unreadable": {"soon is no duration", podSet, `{"readyAfter":"soon","container":{"image":"web"}}`, []string{"spec.readyAfter"}},
		"Entry":      {"a number is no string", podSet, `{"container":{"image":"web","env":{"A":5,"B":"x"}}}`, []string{"spec.container.env"}},
		"OnlyEntry":  {"C-13: the list it left is empty, and a struct drops that", podSet, `{"container":{"env":{"A":5}}}`, []string{"spec.container.env[A]"}},
		"NoImage":    {"C-05: a struct writes an empty image", webApp, `{"image":{"tag":"1"}}`, []string{"spec.image"}},
		"WrongType":  {"C-07: an image is a struct", webApp, `{"image":"web:1","scale":{"instances":2}}`, []string{"spec.image"}},
		"Two": {"each is named", webApp, `{"image":{"repository":"web"},"scale":{"max":3,"targetCPU":"lots"},"healthCheck":{"path":"/","interval":"soon"}}`,
			[]string{"spec.scale.targetCPU", "spec.healthCheck.interval"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := conditionOf(t, tc.kind, tc.older)
			if (got == nil) != (len(tc.mention) == 0) {
				t.Fatalf("%s, and the condition is %+v", tc.reason, got)
			}
			for _, path := range tc.mention {
				if !strings.Contains(got.Message, path) {
					t.Errorf("%s, and the message does not name %s: %s", tc.reason, path, got.Message)
				}
			}
		})
	}
}

// TestManyValuesAreCounted keeps the message short.
func TestManyValuesAreCounted(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "batch.example.com", Version: "v1", Kind: "PodSet"}
	got := conditionOf(t, kind, `{"container":{"image":"w","env":{"A":1,"B":1,"C":1,"D":1,"E":1,"F":1,"G":1}}}`)
	if got == nil || !strings.Contains(got.Message, "and 2 more") {
		t.Errorf("got %+v, want a message that counts two further values", got)
	}
}

func conditionOf(t *testing.T, kind schema.GroupVersionKind, older string) *metav1.Condition {
	t.Helper()
	view := `{"apiVersion":"` + kind.Group + `/v1alpha1","kind":"` + kind.Kind + `","metadata":{"name":"x"},"spec":` + older + `}`
	converted, err := conversion.Convert([]byte(view), kind.GroupVersion().String())
	if err != nil {
		t.Fatal(err)
	}
	var hub struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     json.RawMessage   `json:"spec"`
	}
	if err := json.Unmarshal(converted.Object, &hub); err != nil {
		t.Fatal(err)
	}
	got := Condition(kind, hub.Metadata.Annotations, typed(t, kind, hub.Spec))
	if raw := Condition(kind, hub.Metadata.Annotations, hub.Spec); (raw == nil) != (got == nil) || raw != nil && raw.Message != got.Message {
		t.Errorf("of the struct %+v, of the JSON %+v", got, raw)
	}
	if got != nil && (got.Type != workloadv1.ConditionConversionDegraded || got.Status != metav1.ConditionTrue) {
		t.Errorf("got %+v", got)
	}
	return got
}

// typed is a spec as a controller has it.
func typed(t *testing.T, kind schema.GroupVersionKind, spec []byte) any {
	t.Helper()
	var out any = new(appv1.WebAppSpec)
	if kind.Kind == "PodSet" {
		out = new(batchv1.PodSetSpec)
	}
	if err := json.Unmarshal(spec, out); err != nil {
		t.Fatal(err)
	}
	return out
}
