package conversion

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestRoundTrip is the first promise: converting there and back gives the same object, for likely and for wild objects.
func TestRoundTrip(t *testing.T) {
	for _, c := range standard.all {
		for _, version := range c.versions {
			for _, wild := range []int{0, 40} {
				t.Run(c.kind.Kind+"/"+version, func(t *testing.T) {
					r := newRandom(t)
					for range *objects / 2 {
						checkRoundTrip(t, r.object(c, version, wild), c.kind.Kind, version)
						if t.Failed() {
							return
						}
					}
				})
			}
		}
	}
}

func checkRoundTrip(t testing.TB, in []byte, kind, version string) {
	t.Helper()
	there := mustConvert(t, in, kind, otherVersion(version))
	back := mustConvert(t, there.Object, kind, version)
	want := decoded(t, in)
	expectMetadata(want)
	if got := decoded(t, back.Object); !reflect.DeepEqual(want, got) {
		t.Errorf("%s\n-> %s\n<- %s\n(-want +got):\n%s", in, there.Object, back.Object, cmp.Diff(want, got))
	}
	if len(there.Lost)+len(back.Lost)+back.Malformed > 0 {
		t.Errorf("%s\n-> %s\nlost %v and %v, malformed %d", in, there.Object, there.Lost, back.Lost, back.Malformed)
	}
	again := mustConvert(t, back.Object, kind, otherVersion(version))
	if want, got := decoded(t, there.Object), decoded(t, again.Object); !reflect.DeepEqual(want, got) {
		t.Errorf("%s\nconverts to %s\nand then to %s", in, there.Object, again.Object)
	}
}

// expectMetadata is what conversion does to the metadata of an object: there always is some, and never managedFields.
func expectMetadata(object any) {
	o := object.(map[string]any)
	metadata, ok := o["metadata"].(map[string]any)
	if !ok {
		o["metadata"] = map[string]any{}
	}
	delete(metadata, "managedFields")
}

// TestPlantedAnnotations: whatever stands in our annotations, planted by anyone, apart from them an object comes back
// as it was.
func TestPlantedAnnotations(t *testing.T) {
	for _, c := range standard.all {
		for _, version := range c.versions {
			t.Run(c.kind.Kind+"/"+version, func(t *testing.T) {
				r := newRandom(t)
				for range *objects / 4 {
					in := r.planted(c, version)
					there := mustConvert(t, in, c.kind.Kind, otherVersion(version))
					back := mustConvert(t, there.Object, c.kind.Kind, version)
					want, got := decoded(t, in), decoded(t, back.Object)
					for _, o := range []any{want, got} {
						expectMetadata(o)
						takeAnnotation(o, workloadv1.AnnotationV1Fields)
						takeAnnotation(o, workloadv1.AnnotationUnconvertible)
					}
					if !reflect.DeepEqual(want, got) {
						t.Fatalf("%s\n-> %s\n<- %s\n(-want +got):\n%s", in, there.Object, back.Object, cmp.Diff(want, got))
					}
				}
			})
		}
	}
}

// planted is an object with arbitrary content in our annotations.
func (r *random) planted(c *compiled, version string) []byte {
	object := strings.TrimSuffix(string(r.object(c, version, pick(r, 0, 0, 40))), "}")
	other := c.spoke
	if version != hubVersion {
		other = c.hub
	}
	originals := fmt.Sprintf(`{%q:{"spec":%s,"status":%s,"metadata":%s},%q:%s,"x":1}`,
		other.version, r.node(c, other.spec, other.version, 40), r.node(c, other.status, other.version, 40), r.metadata(other.version, 40),
		version, r.value(2))
	kept := r.node(c, c.hub.spec, hubVersion, 30)
	annotations := fmt.Sprintf(`%q:%s,%q:%s`, workloadv1.AnnotationV1Fields, quotedJSON(kept),
		workloadv1.AnnotationUnconvertible, quotedJSON(originals))
	return []byte(object + `,"metadata":{"name":"x","annotations":{"a":"b",` + annotations + `}}}`)
}
