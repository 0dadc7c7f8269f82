package conversion

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const fullWebApp = `{"metadata":{"name":"x","managedFields":[{"manager":"m"}]},"spec":{
	"image":"web:1","replicas":2,"port":80,
	"env":[{"name":"Z","value":"1"},{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},{"name":"A","value":"2"}],
	"resources":{"requests":{"cpu":"1000m"},"limits":{"memory":"1Gi"}},
	"probes":{"readiness":{"httpGet":{"path":"/a","port":8080},"periodSeconds":5,"failureThreshold":4}},
	"volumes":[{"name":"data","emptyDir":{}}],"volumeMounts":[{"name":"data","mountPath":"/data"}],
	"ingress":{"host":"web.example.net"},"future":{"a":1}},"status":{"replicas":2}}`

// written is what the API server has after a client wrote a view: the view converted up.
func written(t *testing.T, view []byte) []byte {
	return mustConvert(t, view, "WebApp", hubVersion).Object
}

func TestOverlay(t *testing.T) {
	stored := object("WebApp", hubVersion, fullWebApp)
	view := mustConvert(t, stored, "WebApp", "v1alpha1").Object
	withImage := edited(t, stored, set("spec|image", "web:2"), remove("metadata|managedFields"))
	cases := map[string]struct {
		view, want []byte
	}{
		"A-10 a manifest without kept fields": {
			object("WebApp", "v1alpha1", `{"metadata":{"name":"x"},"spec":{"image":{"repository":"web","tag":"2"},"scale":{"instances":2},
				"expose":{"port":80},"env":{"Z":"1","A":"2"},"resources":{"cpu":"1000m"},"healthCheck":{"path":"/a","interval":"5s"}},
				"status":{"replicas":2}}`), withImage,
		},
		"A-11 kept fields emptied": {
			edited(t, view, set(keptAt, "{}")), edited(t, stored, remove("metadata|managedFields")),
		},
		"A-11 kept fields replaced with garbage": {
			edited(t, view, set(keptAt, "{{{"), set("spec|image|tag", "2")), withImage,
		},
		"A-11 kept fields changed": {
			edited(t, view, set(keptAt, `{"terminationGracePeriodSeconds":-5,"volumes":"junk"}`)), edited(t, stored, remove("metadata|managedFields")),
		},
		"A-11 parked values planted": {
			edited(t, view, set("metadata|annotations|"+workloadv1.AnnotationUnconvertible, `{"v1":{"spec":{"probes":"junk","autoscaling":{"x":1}}}}`)),
			edited(t, stored, remove("metadata|managedFields")),
		},
		"a struct removed goes with what it hides": {
			edited(t, view, remove("spec|healthCheck")), edited(t, stored, remove("spec|probes"), remove("metadata|managedFields")),
		},
		"an own spelling stays": {
			edited(t, view, set("spec|healthCheck|interval", "2m")),
			edited(t, stored, set("spec|probes|readiness|periodSeconds", 120), remove("metadata|managedFields"),
				set("metadata|annotations|"+workloadv1.AnnotationUnconvertible, `{"v1alpha1":{"spec":{"healthCheck":{"interval":"2m"}}}}`)),
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Overlay(written(t, c.view), stored, "app.example.com/v1alpha1")
			if err != nil {
				t.Fatal(err)
			}
			equalJSON(t, "overlaid", c.want, got)
		})
	}
}

// TestOverlayTakesOver is C-23: a path that a client sets takes over from the handler in the stored object, and two handlers that
// are stored stay while the client does not touch them.
func TestOverlayTakesOver(t *testing.T) {
	const manifest = `{"metadata":{},"spec":{"healthCheck":{"path":"/"}}}` // without kept fields
	for stored, want := range map[string]string{
		`{"tcpSocket":{"port":1},"timeoutSeconds":2}`: `{"httpGet":{"path":"/"},"timeoutSeconds":2}`,
		`{"httpGet":{"path":"/"},"exec":{}}`:          `{"httpGet":{"path":"/"},"exec":{}}`,
	} {
		body := func(readiness string) []byte {
			return object("WebApp", hubVersion, `{"metadata":{},"spec":{"probes":{"readiness":`+readiness+`}}}`)
		}
		got, err := Overlay(written(t, object("WebApp", "v1alpha1", manifest)), body(stored), "app.example.com/v1alpha1")
		if err != nil {
			t.Fatal(err)
		}
		equalJSON(t, "overlaid", body(want), got)
	}
}

func TestOverlayKeepsMetadata(t *testing.T) {
	newHub := object("WebApp", hubVersion, `{"metadata":{"name":"x","managedFields":[{"manager":"n"}],"labels":{"a":"b"}},"spec":{"replicas":3}}`)
	got, err := Overlay(newHub, object("WebApp", hubVersion, fullWebApp), "app.example.com/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	want, have := at(decoded(t, newHub), "metadata"), at(decoded(t, got), "metadata")
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestOverlayRefuses(t *testing.T) {
	hub := object("WebApp", hubVersion, `{}`)
	for name, args := range map[string][3]string{
		"not JSON":        {"{", string(hub), "app.example.com/v1alpha1"},
		"not an object":   {" []", string(hub), "app.example.com/v1alpha1"},
		"other kinds":     {string(hub), string(object("PodSet", hubVersion, `{}`)), "app.example.com/v1alpha1"},
		"the hub version": {string(hub), string(hub), "app.example.com/v1"},
		"a spoke object":  {string(object("WebApp", "v1alpha1", `{}`)), string(hub), "app.example.com/v1alpha1"},
		"nothing stored":  {string(hub), "null", "app.example.com/v1alpha1"},
	} {
		if _, err := Overlay([]byte(args[0]), []byte(args[1]), args[2]); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestOverlayAtRandom is the second promise: whatever a client of the older version writes, hidden fields are the stored ones,
// and visible fields are what it wrote.
func TestOverlayAtRandom(t *testing.T) {
	for _, c := range standard.all {
		t.Run(c.kind.Kind, func(t *testing.T) {
			r := newRandom(t)
			for range *objects / 20 {
				stored := r.object(c, hubVersion, 0)
				write := r.planted(c, "v1alpha1")
				newHub := mustConvert(t, write, c.kind.Kind, hubVersion).Object
				got, err := Overlay(newHub, stored, c.kind.Group+"/v1alpha1")
				if err != nil {
					t.Fatal(err)
				}
				if isObject([]byte(quotedType(at(decoded(t, got), "spec")))) && at(decoded(t, write), "spec") != nil {
					checkHidden(t, c, stored, got)
				}
				want := at(decoded(t, mustConvert(t, newHub, c.kind.Kind, "v1alpha1").Object), "spec")
				shown := at(decoded(t, mustConvert(t, got, c.kind.Kind, "v1alpha1").Object), "spec")
				if !reflect.DeepEqual(want, shown) {
					t.Errorf("visible (-want +got):\n%s", cmp.Diff(want, shown))
				}
				if t.Failed() {
					t.Fatalf("stored %s\nwritten %s\nnew %s\noverlaid %s", stored, write, newHub, got)
				}
			}
		})
	}
}

// quotedType is {} for an object.
func quotedType(value any) string {
	if _, ok := value.(map[string]any); ok {
		return "{}"
	}
	return "null"
}

func TestKeptSize(t *testing.T) {
	for name, c := range map[string]struct {
		object string
		want   int
	}{
		"nothing kept": {`{"spec":{"replicas":1}}`, 0},
		"one field":    {`{"spec":{"paused":true}}`, len(workloadv1.AnnotationV1Fields) + len(`{"paused":true}`)},
	} {
		got, err := KeptSize(object("WebApp", hubVersion, c.object), "app.example.com/v1alpha1")
		if err != nil || got != c.want {
			t.Errorf("%s: got %d, %v; want %d", name, got, err, c.want)
		}
	}
}

func TestDegraded(t *testing.T) {
	hub := mustConvert(t, object("WebApp", "v1alpha1", `{"spec":{"healthCheck":{"path":"/h","interval":"soon"},"scale":{"targetCPU":"080%"}}}`),
		"WebApp", hubVersion).Object
	want := []Quarantined{{Path: "spec.healthCheck.interval", Reason: "is not a whole number and s, m or h"}}
	if diff := cmp.Diff(want, Degraded(hub)); diff != "" {
		t.Errorf("unreadable (-want +got):\n%s", diff)
	}
	changed := edited(t, hub, set("spec|probes|readiness|periodSeconds", 20))
	if got := Degraded(changed); len(got) > 0 {
		t.Errorf("after a change: %v", got)
	}
	if got := Degraded([]byte(`{`)); len(got) > 0 {
		t.Errorf("no object: %v", got)
	}
}
