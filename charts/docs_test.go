package charts

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// valueRow matches a row of the table of values.
var valueRow = regexp.MustCompile("(?m)^\\| `([A-Za-z.]+)` \\| `([^`]+)` \\| .*\\|$")

// docs/install.md names every value and its default.
func TestDocumentHasAllValues(t *testing.T) {
	data, err := os.ReadFile("workload-operator/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(data, &values); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	flatten(t, "", values, want)
	page, err := os.ReadFile("../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, row := range valueRow.FindAllStringSubmatch(string(page), -1) {
		got[row[1]] = row[2]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-values.yaml +docs/install.md):\n%s", diff)
	}
}

// flatten collects the defaults by path. An empty map is a value.
func flatten(t *testing.T, path string, values map[string]any, into map[string]string) {
	t.Helper()
	for key, value := range values {
		if nested, ok := value.(map[string]any); ok && len(nested) > 0 {
			flatten(t, path+key+".", nested, into)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		into[path+key] = string(text)
	}
}
