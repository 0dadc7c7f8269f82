package conversion

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// TestDegradedAgrees: what conversion up reports, Degraded finds on the hub object, also after it went through the Go struct of a
// controller, which drops empty lists and writes required fields that were absent.
func TestDegradedAgrees(t *testing.T) {
	for _, c := range standard.all {
		t.Run(c.kind.Kind, func(t *testing.T) {
			r, typed := newRandom(t), 0
			for range *objects / 5 {
				in := r.object(c, "v1alpha1", pick(r, 10, 40))
				up := mustConvert(t, in, c.kind.Kind, hubVersion)
				if diff := cmp.Diff(up.Quarantined, Degraded(up.Object)); diff != "" {
					t.Fatalf("%s\n-> %s\n(-reported +found):\n%s", in, up.Object, diff)
				}
				hub, ok := throughController(t, c, up.Object)
				want := inSpec(up.Quarantined)
				if !ok || len(want) == 0 {
					continue
				}
				typed++
				if diff := cmp.Diff(want, inSpec(Degraded(hub))); diff != "" {
					t.Fatalf("%s\n-> %s\nin a controller %s\n(-reported +found):\n%s", in, up.Object, hub, diff)
				}
			}
			if typed < *objects/500 {
				t.Errorf("only %d objects had something unreadable and fit into a struct", typed)
			}
		})
	}
}

// inSpec leaves out what a controller does not look at: status is its own, and a spec is an object in what the API server stores.
func inSpec(all []Quarantined) []Quarantined {
	return slices.DeleteFunc(slices.Clone(all), func(q Quarantined) bool { return !strings.HasPrefix(q.Path, "spec.") })
}

// throughController is a hub object as a controller reads it: annotations and spec; false if the struct cannot hold it.
func throughController(t *testing.T, c *compiled, object []byte) ([]byte, bool) {
	t.Helper()
	var metadata metav1.ObjectMeta
	var spec any
	switch c.kind.Kind {
	case webApp.kind.Kind:
		var o appv1.WebApp
		if json.Unmarshal(object, &o) != nil {
			return nil, false
		}
		metadata, spec = o.ObjectMeta, o.Spec
	default:
		var o batchv1.PodSet
		if json.Unmarshal(object, &o) != nil {
			return nil, false
		}
		metadata, spec = o.ObjectMeta, o.Spec
	}
	annotations, _ := at(decoded(t, object), "metadata.annotations").(map[string]any)
	for key := range metadata.Annotations {
		if annotations[key] == nil {
			delete(metadata.Annotations, key) // a null, which no API server stores
		}
	}
	hub, err := json.Marshal(map[string]any{"apiVersion": c.kind.Group + "/" + hubVersion, "kind": c.kind.Kind,
		"metadata": map[string]any{"annotations": metadata.Annotations}, "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	return hub, true
}
