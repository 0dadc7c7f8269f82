package webhooks

import (
	"encoding/json"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

var (
	seed    = flag.Uint64("seed", 0, "seed of the random objects; 0 takes one from the clock")
	objects = flag.Int("objects", 60, "random objects per kind and version")
)

// random makes objects that are nearly right: several samples at once, converted if asked for, with a few places changed
// to something else.
type random struct {
	*rand.Rand
	t testing.TB
}

// newRandom returns a generator whose seed is printed and can be given back with -seed.
func newRandom(t testing.TB) *random {
	value := *seed
	if value == 0 {
		value = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -args -seed=%d)", value, value)
	return &random{Rand: rand.New(rand.NewPCG(value, value)), t: t}
}

func pick[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

// object returns the next object of a kind in a version.
func (r *random) object(gvk schema.GroupVersionKind) []byte {
	gk := gvk.GroupKind()
	object := base(r.t, gk.WithVersion("v1"))
	good := slices.DeleteFunc(samplesOf(gk), func(s sample) bool { return s.want != "" })
	for range r.IntN(4) {
		object = merged(r.t, string(object), `{"spec": `+pick(r, good...).spec+`}`)
	}
	if r.IntN(3) == 0 {
		object = merged(r.t, string(object), `{"spec": `+pick(r, samplesOf(gk)...).spec+`}`)
	}
	if gvk.Version != "v1" {
		view, err := conversion.Convert(object, gvk.GroupVersion().String())
		if err != nil {
			r.t.Fatal(err)
		}
		object = view.Object
		if r.IntN(2) == 0 {
			object = merged(r.t, string(object), `{"spec": `+pick(r, badSpecs[gvk]...).spec+`}`)
		}
	}
	content, _ := exact(r.t, string(object)).(map[string]any)
	for range r.IntN(3) {
		r.change(content["spec"])
	}
	if r.IntN(4) == 0 {
		metadata, _ := content["metadata"].(map[string]any)
		metadata[pick(r, "labels", "annotations", "finalizers", "name", "generateName", "surprise")] = r.anything()
	}
	raw, err := json.Marshal(content)
	if err != nil {
		r.t.Fatal(err)
	}
	return raw
}

// change does something to one place below value.
func (r *random) change(value any) {
	switch value := value.(type) {
	case map[string]any:
		if len(value) == 0 {
			return
		}
		name := pick(r, slices.Sorted(maps.Keys(value))...)
		switch {
		case r.IntN(3) > 0 && isContainer(value[name]):
			r.change(value[name])
		case r.IntN(6) == 0:
			delete(value, name)
		case r.IntN(6) == 0:
			value[pick(r, "surprise", "Replicas", "a.b")] = r.anything()
		default:
			value[name] = r.anything()
		}
	case []any:
		if len(value) == 0 {
			return
		}
		if i := r.IntN(len(value)); isContainer(value[i]) {
			r.change(value[i])
		} else {
			value[i] = r.anything()
		}
	}
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func (r *random) anything() any {
	return pick[any](r, nil, true, 0, 1, -1, 11, 80, 65536, 1.5, "", "a", "web:1", "10s", "80%", "A=B", "1e99", "64Mi", "two words", long(300),
		map[string]any{}, map[string]any{"a": "b"}, []any{}, []any{"a"}, []any{map[string]any{"name": "a"}})
}
