package conversion

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// webAppV2 is a toy third version: all it takes is one more table.
var webAppV2 = table{
	kind:    webApp.kind,
	version: "v2alpha1",
	rows: []row{
		{"spec.image", "spec.run.image", nil, ``},
		{"spec.replicas", "spec.run.copies", nil, ``},
		{"spec.env", "spec.run.variables", envMap, ``},
		{"spec.probes.readiness.periodSeconds", "spec.probeEvery", duration, ``},
		{"spec.terminationGracePeriodSeconds", "spec.grace", duration, ``},
		{"status.phase", "status.phase", nil, ``},
	},
}

// TestThirdVersion converts between two spokes through the hub: what both show survives, and so does what only one of them, or
// only the hub, can say.
func TestThirdVersion(t *testing.T) {
	three := newConverter(&webApp, &webAppV2, &podSet)
	to := func(object []byte, version string) []byte {
		t.Helper()
		result, err := three.convert(object, "app.example.com/"+version)
		if err != nil {
			t.Fatal(err)
		}
		return result.Object
	}
	old := object("WebApp", "v1alpha1", `{"metadata":{},"spec":{"image":{"repository":"web","tag":"1"},"scale":{"instances":2},
		"env":{"A":"1","B":7},"healthCheck":{"path":"/","interval":"2m"},"extra":1},"status":{"state":"running"}}`)
	toy := to(old, "v2alpha1")
	want := decoded(t, object("WebApp", "v2alpha1", `{"metadata":{},"spec":{"run":{"image":"web:1","copies":2,"variables":{"A":"1"}},"probeEvery":"120s"},"status":{"phase":"Running"}}`))
	got := decoded(t, toy)
	takeAnnotation(got, workloadv1.AnnotationV1Fields)
	takeAnnotation(got, workloadv1.AnnotationUnconvertible)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v2alpha1 (-want +got):\n%s", diff)
	}
	equalJSON(t, "back in v1alpha1", old, to(toy, "v1alpha1"))
	if there, again := to(old, "v1"), to(to(to(old, "v1"), "v2alpha1"), "v1"); !reflect.DeepEqual(decoded(t, there), decoded(t, again)) {
		t.Errorf("v1 was %s and is %s", there, again)
	}
	edit := edited(t, toy, set("spec|run|copies", 5), set("spec|grace", "1m"))
	hub := decoded(t, to(edit, "v1"))
	if at(hub, "spec.replicas") == at(hub, "spec.terminationGracePeriodSeconds") {
		t.Errorf("the edit does not show: %v", hub)
	}
	equalJSON(t, "edited and read in v1alpha1", edited(t, old, set("spec|scale|instances", 5)), withoutOurs(t, to(edit, "v1alpha1")))
	equalJSON(t, "edited and back", edit, withoutKept(t, to(to(edit, "v1alpha1"), "v2alpha1"), edit))
}

func withoutOurs(t *testing.T, object []byte) []byte {
	return edited(t, object, func(o map[string]any) {
		takeAnnotation(o, workloadv1.AnnotationV1Fields)
		takeAnnotation(o, workloadv1.AnnotationUnconvertible)
	})
}

// withoutKept is the object with the kept annotation of another, which may name the same fields in another order.
func withoutKept(t *testing.T, object, other []byte) []byte {
	kept := at(decoded(t, other), "metadata").(map[string]any)["annotations"].(map[string]any)[workloadv1.AnnotationV1Fields]
	return edited(t, object, set(keptAt, kept))
}

// TestThirdVersionAtRandom: v1alpha1 -> v2alpha1 -> v1alpha1 is the identity.
func TestThirdVersionAtRandom(t *testing.T) {
	three := newConverter(&webApp, &webAppV2)
	r := newRandom(t)
	for range *objects / 5 {
		in := r.object(three.all[0], "v1alpha1", 40)
		toy, err := three.convert(in, "app.example.com/v2alpha1")
		if err != nil {
			t.Fatal(err)
		}
		back, err := three.convert(toy.Object, "app.example.com/v1alpha1")
		if err != nil {
			t.Fatal(err)
		}
		want, got := decoded(t, in), decoded(t, back.Object)
		expectMetadata(want)
		if !reflect.DeepEqual(want, got) {
			t.Fatalf("%s\n-> %s\n<- %s\n(-want +got):\n%s", in, toy.Object, back.Object, cmp.Diff(want, got))
		}
	}
}
