package documents

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/workload-operator/config"
)

var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// docs/reference.md has the fields of spec and status that the definitions have, in each version, and no others. It is generated, but from
// the Go types, while users meet the definitions.
func TestReferenceHasEveryField(t *testing.T) {
	sections := map[string][]string{}
	for section := range strings.SplitSeq(string(read(t, root+"/docs/reference.md")), "\n### ") {
		title, text, _ := strings.Cut(section, "\n")
		for _, found := range row.FindAllStringSubmatch(text, -1) {
			sections[title] = append(sections[title], found[1])
		}
	}
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			group, _, _ := strings.Cut(crd.Spec.Group, ".")
			for part, suffix := range map[string]string{"spec": "Spec", "status": "Status"} {
				title := crd.Spec.Names.Kind + suffix + " (" + group + "/" + version.Name + ")"
				want := slices.Sorted(maps.Keys(version.Schema.OpenAPIV3Schema.Properties[part].Properties))
				if diff := cmp.Diff(want, slices.Sorted(slices.Values(sections[title]))); diff != "" {
					t.Errorf("%s (-definition +page):\n%s", title, diff)
				}
			}
		}
	}
}
