package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/controlplane"
)

// refusal is an entry of test/corpus/admission.
type refusal struct {
	Name    string          `json:"name"`
	Case    string          `json:"case"`
	Spec    json.RawMessage `json:"spec"`
	Field   string          `json:"field"`
	Message string          `json:"message"`
}

// TestRefusals writes the bad specs of the corpus and checks that the message names the field as the writer knows it:
//
func TestRefusals(t *testing.T) {
	cases := map[string]struct{ apiVersion, kind, foreign string }{
		"app_v1_webapp.yaml":         {"app.example.com/v1", "WebApp", "spec.scale"},
		"app_v1alpha1_webapp.yaml":   {"app.example.com/v1alpha1", "WebApp", "spec.replicas"},
		"batch_v1_podset.yaml":       {"batch.example.com/v1", "PodSet", "spec.size"},
		"batch_v1alpha1_podset.yaml": {"batch.example.com/v1alpha1", "PodSet", "spec.replicas"},
	}
	for file, tc := range cases {
		t.Run(file, func(t *testing.T) {
			c := connect(t)
			for _, r := range readRefusals(t, file) {
				t.Run(r.Name, func(t *testing.T) {
					manifest, err := json.Marshal(map[string]any{
						"apiVersion": tc.apiVersion, "kind": tc.kind, "metadata": map[string]any{"name": r.Name}, "spec": r.Spec,
					})
					if err != nil {
						t.Fatal(err)
					}
					out, err := c.kubectl(string(manifest), "create", "--dry-run=server", "-f", "-")
					if err == nil {
						t.Fatalf("accepted: %s", out)
					}
					text := err.Error()
					if !strings.Contains(text, r.Field) || !strings.Contains(text, r.Message) {
						t.Errorf("the message does not name %s (and %q): %s", r.Field, r.Message, text)
					}
					if strings.Contains(text, tc.foreign) {
						t.Errorf("the message names %s, which the writer's version does not have: %s", tc.foreign, text)
					}
				})
			}
		})
	}
}

func readRefusals(t *testing.T, file string) []refusal {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(root, "test", "corpus", "admission", file))
	if err != nil {
		t.Fatal(err)
	}
	var refusals []refusal
	if err := yaml.UnmarshalStrict(raw, &refusals); err != nil {
		t.Fatal(err)
	}
	if len(refusals) < 10 {
		t.Fatalf("%s has only %d entries", file, len(refusals))
	}
	return refusals
}

// TestNames covers A-09: the limit on names, and its message.
func TestNames(t *testing.T) {
	cases := map[string]struct {
		apiVersion, kind, spec string
		limit                  int
	}{
		"WebApp v1":       {"app.example.com/v1", "WebApp", `{"image":"web:1"}`, 59},
		"WebApp v1alpha1": {"app.example.com/v1alpha1", "WebApp", `{"image":{"repository":"web"}}`, 59},
		"PodSet v1":       {"batch.example.com/v1", "PodSet", `{"image":"web:1"}`, 52},
		"PodSet v1alpha1": {"batch.example.com/v1alpha1", "PodSet", `{"container":{"image":"web:1"}}`, 52},
	}
	for title, tc := range cases {
		t.Run(title, func(t *testing.T) {
			c := connect(t)
			create := func(name string) error {
				manifest := `{"apiVersion":"` + tc.apiVersion + `","kind":"` + tc.kind + `","metadata":{"name":"` + name + `"},"spec":` + tc.spec + `}`
				_, err := c.kubectl(manifest, "create", "--dry-run=server", "-f", "-")
				return err
			}
			for _, name := range []string{strings.Repeat("a", tc.limit), "1web"} {
				if err := create(name); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, name := range []string{strings.Repeat("a", tc.limit+1), "my.app"} {
				if err := create(name); err == nil || !strings.Contains(err.Error(), "metadata.name") {
					t.Errorf("%s: got %v, want a refusal that names metadata.name", name, err)
				}
			}
		})
	}
}
