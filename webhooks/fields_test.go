package webhooks

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func fields(t *testing.T) *Fields {
	t.Helper()
	f, err := NewFields(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestFieldsAgree: without rules the mistakes are the same as those of an admission, and with them those of the API server.
func TestFieldsAgree(t *testing.T) {
	f, o, mistaken := fields(t), offline(t), 0
	for reason, object := range agreementCases(t) {
		got, err := f.Mistakes(object.raw)
		if err != nil {
			t.Fatal(err)
		}
		want := offlineAnswer(t, o, object.raw).Mistakes
		if diff := cmp.Diff(want, sorted(got)); diff != "" && !strings.HasPrefix(reason, "label of the wrong type") {
			t.Errorf("%s: (-offline +fields)\n%s", reason, diff)
		}
		if len(want) > 0 {
			mistaken++
		}
	}
	if mistaken < 20 {
		t.Errorf("only %d of the objects have mistakes", mistaken)
	}
}

func TestFieldNames(t *testing.T) {
	f, v1 := fields(t), webApp.WithVersion("v1")
	for path, want := range map[string]string{
		"": "spec", "metadata": "labels", "spec": "replicas", "spec.env[0]": "valueFrom", "spec.volumes[3].configMap.items[1]": "path", "spec.probes.startup.httpGet": "port",
	} {
		if names := f.Names(v1, path); !slices.Contains(names, want) || !slices.IsSorted(names) {
			t.Errorf("%q: got %v, want %s among them", path, names, want)
		}
	}
	for _, path := range []string{"spec.none", "spec.env.name", "spec.podLabels", "spec.image.x", "a[0][1]", "."} {
		if names := f.Names(v1, path); names != nil {
			t.Errorf("%q: got %v", path, names)
		}
	}
	if !f.Has(v1, "spec.podLabels.any") || f.Has(v1, "spec.scale") || !f.Has(webApp.WithVersion("v1alpha1"), "spec.scale.min") || f.Has(webApp.WithVersion("v9"), "spec") {
		t.Error("a field is there that is not, or the other way round")
	}
}

func TestMistakesOfNothing(t *testing.T) {
	for _, raw := range []string{``, `[]`, `{`, `{"kind":"WebApp"}`, `{"apiVersion":"app.example.com/v9","kind":"WebApp"}`} {
		if got, err := fields(t).Mistakes([]byte(raw)); err == nil {
			t.Errorf("%s: got %v and no error", raw, got)
		}
	}
}
