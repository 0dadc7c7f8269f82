package conversion

import (
	"strings"
	"testing"
)

// TestHalfPairs: names that differ only in halves of surrogate pairs all mean U+FFFD for a reader, and stay different all the same.
func TestHalfPairs(t *testing.T) {
	const names = `"\ud800":"1","\udfff":"2","�":"3"`
	for _, in := range []struct{ kind, version, spec string }{
		{"WebApp", "v1alpha1", `{"env":{` + names + `}}`},
		{"PodSet", "v1alpha1", `{"container":{"env":{` + names + `}}}`},
		{"WebApp", "v1alpha1", `{"env":{` + strings.NewReplacer(`"1"`, "1", `"2"`, "2").Replace(names) + `}}`},
		{"WebApp", "v1", `{"env":[{"name":"\ud800","value":"1"},{"name":"\udfff","value":"2"},{"name":"�","valueFrom":{}}]}`},
		{"WebApp", "v1alpha1", `{` + names + `}`},
	} {
		there := mustConvert(t, object(in.kind, in.version, `{"metadata":{},"spec":`+in.spec+`}`), in.kind, otherVersion(in.version))
		back := string(mustConvert(t, there.Object, in.kind, in.version).Object)
		for _, name := range []string{`"\ud800"`, `"\udfff"`, `"�"`} {
			if strings.Count(in.spec, name) != strings.Count(back, name) {
				t.Errorf("%s\n-> %s\n<- %s", in.spec, there.Object, back)
			}
		}
	}
	if got, want := string(nameKey([]byte(`"\uD800"`))), string(nameKey([]byte(`"\ud800"`))); got != want {
		t.Errorf("the key of one name in two spellings: %q and %q", got, want)
	}
	if got := string(nameKey([]byte(`"\u0041"`))); got != "A" {
		t.Errorf("the key of A: %q", got)
	}
}
