package conversion

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// leastAccepted is the percentage of random objects that must be valid. Below it the generator no longer knows the schemas.
const leastAccepted = 70

// neverValid is a field that the schema has, because it is a field of every probe, and that a rule forbids.
const neverValid = ".spec.probes.readiness.terminationGracePeriodSeconds"

// enough objects have every field and need every exception.
const enough = 2000

// sample calls test with valid random objects of a version, until there were as many as -objects. It fails if too few
// are valid, or if a field of the schema never had a value.
func sample(t *testing.T, s side, test func(raw []byte)) {
	t.Helper()
	r := newRandom(t, s)
	missing := map[string]bool{}
	s.root.leaves(missing)
	made, accepted := 0, 0
	for accepted < *objects {
		raw := r.object()
		made++
		if len(s.accepts(t, raw)) == 0 {
			accepted++
			s.root.strike(decoded(t, raw), missing)
			test(raw)
		}
		if made >= 1000 && accepted*100 < made*leastAccepted {
			t.Fatalf("only %d of %d random objects are valid, want %d%%; the last: %s\n%s", accepted, made, leastAccepted, raw, describe(s.accepts(t, raw)))
		}
	}
	t.Logf("%d objects valid of %d made", accepted, made)
	if *objects >= enough {
		for path := range missing {
			if path == neverValid {
				continue
			}
			t.Errorf("no valid object had %s", path)
		}
	}
}

// exception is an error that the other version may report about an object that is valid in its own.
type exception struct {
	from, kind string
	field      string // that the error is about
	reason     string
	met        atomic.Int64
	applies    func(testing.TB, pair, []byte) bool
}

// exceptions are all there are. Each must occur, or it is out of date.
var exceptions = []*exception{
	{
		from: "v1alpha1", kind: "WebApp", field: "spec.probes.readiness",
		reason: "v1alpha1 cannot require healthCheck.path, since the view of a probe that is not HTTP has none; v1's rule refuses " +
			"a health check that is none",
		applies: func(t testing.TB, _ pair, raw []byte) bool {
			healthCheck, found, _ := unstructured.NestedMap(decoded(t, raw), "spec", "healthCheck")
			return found && healthCheck["path"] == nil
		},
	},
	{
		from: "v1", kind: "PodSet", field: "spec.description",
		reason: "in v1 the description is an annotation, and annotations have no schema; v1alpha1 takes 4096 characters",
		applies: func(t testing.TB, _ pair, raw []byte) bool {
			text, _, _ := unstructured.NestedString(decoded(t, raw), "metadata", "annotations", "batch.example.com/description")
			return utf8.RuneCountInString(text) > 4096
		},
	},
}

// expected is true if an exception explains the error.
func expected(t testing.TB, p pair, raw []byte, err *field.Error) bool {
	for _, e := range exceptions {
		if e.from == p.from.gvk.Version && e.kind == p.from.gvk.Kind && e.field == err.Field && e.applies(t, p, raw) {
			e.met.Add(1)
			return true
		}
	}
	return false
}

// admitted is what becomes of an object that is written in one version and stored in the other: as in the API server,
// completed, converted and defaulted by our webhook.
func admitted(t testing.TB, p pair, raw []byte) []byte {
	t.Helper()
	return webhookDefault(t, p.to, convert(t, encoded(t, completed(t, p.from, raw)), p.to.apiVersion()))
}

// webhookDefault is the defaulting webhook, which sees only v1.
func webhookDefault(t testing.TB, s side, raw []byte) []byte {
	t.Helper()
	if s.gvk.Version != "v1" {
		return raw
	}
	out, err := webhooks.Default(webhooks.Request{Kind: s.gvk.GroupKind(), Version: "v1alpha1", Object: raw})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// law is something that holds for every valid object.
type law struct {
	name string

	// oneIn says how many objects are held to a law that takes long to check: every one, or one in so many.
	oneIn int

	// broken says how an object breaks the law, or is empty.
	broken func(testing.TB, pair, []byte) string
}

var laws = []law{
	{"what one version accepts, the other accepts, and has a field for all of it", 1, notAccepted},
	{"the other version can read every value", 1, notReadable},
	{"an object comes back from the other version as it was", 1, notTheSameBack},
	{"it makes no difference whether defaults are filled in before conversion or after it", 4, defaultedOtherwise},
}

// TestValidObjects holds objects that one version accepts to the laws.
func TestValidObjects(t *testing.T) {
	t.Cleanup(func() { exceptionsOccur(t) })
	forEachPair(t, func(t *testing.T, p pair) {
		settled, count := map[string]bool{}, 0
		sample(t, p.from, func(raw []byte) {
			count++
			for _, l := range laws {
				if count%l.oneIn != 0 || settled[l.name] || l.broken(t, p, raw) == "" {
					continue
				}
				settled[l.name] = true
				small := shrink(t, raw, func(smaller []byte) bool {
					return len(p.from.accepts(t, smaller)) == 0 && l.broken(t, p, smaller) != ""
				})
				t.Errorf("law: %s\nvalid in %s: %s\n%s", l.name, p.from.gvk.Version, small, l.broken(t, p, small))
			}
		})
	})
}

// exceptionsOccur fails for an exception that no object needed.
func exceptionsOccur(t *testing.T) {
	for _, e := range exceptions {
		t.Logf("exception %s of %s in %s: %d times: %s", e.field, e.kind, e.from, e.met.Load(), e.reason)
		if *objects >= enough && e.met.Load() == 0 {
			t.Errorf("the exception %s of %s in %s did not occur: remove it", e.field, e.kind, e.from)
		}
	}
}

func notAccepted(t testing.TB, p pair, raw []byte) string {
	out := admitted(t, p, raw)
	errs := slices.DeleteFunc(p.to.accepts(t, out), func(err *field.Error) bool { return expected(t, p, raw, err) })
	if len(errs) > 0 {
		return fmt.Sprintf("in %s: %s\n%s", p.to.gvk.Version, out, describe(errs))
	}
	if unknown := p.to.pruned(t, out); len(unknown) > 0 {
		return fmt.Sprintf("in %s: %s\nhas unknown fields %v", p.to.gvk.Version, out, unknown)
	}
	return ""
}

// notReadable leaves nulls out: the API server drops them before it converts, and of a variable whose value is null nothing
// shows in v1alpha1.
func notReadable(t testing.TB, p pair, raw []byte) string {
	raw = encoded(t, withoutNulls(decoded(t, raw)))
	result, err := conversion.Convert(raw, p.to.apiVersion())
	if err != nil || len(result.Quarantined) > 0 {
		return fmt.Sprintf("in %s: %s\n%v %v", p.to.gvk.Version, result.Object, result.Quarantined, err)
	}
	return ""
}

func notTheSameBack(t testing.TB, p pair, raw []byte) string {
	there := convert(t, raw, p.to.apiVersion())
	back := convert(t, there, p.from.apiVersion())
	want := decoded(t, raw)
	if _, ok := want["metadata"]; !ok {
		want["metadata"] = map[string]any{}
	}
	return difference(want, decoded(t, back))
}

// difference is empty if there is none. Looking for one is much slower than comparing.
func difference(want, got map[string]any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// defaultedOtherwise leaves nulls out, too.
func defaultedOtherwise(t testing.TB, p pair, raw []byte) string {
	raw = encoded(t, withoutNulls(decoded(t, raw)))
	before, after := admitted(t, p, raw), webhookDefault(t, p.to, convert(t, raw, p.to.apiVersion()))
	if diff := difference(visible(t, p.to, before), visible(t, p.to, after)); diff != "" {
		return "in " + p.to.gvk.Version + ":\n" + diff
	}
	// What v1 alone has gets its defaults only there.
	up := func(view []byte) map[string]any {
		return visible(t, p.from, convert(t, encoded(t, completed(t, p.to, view)), p.from.apiVersion()))
	}
	if diff := difference(up(before), up(after)); diff != "" {
		return "back in " + p.from.gvk.Version + ":\n" + diff
	}
	return ""
}

// visible is an object with the defaults of its version, and without our annotations.
func visible(t testing.TB, s side, raw []byte) map[string]any {
	t.Helper()
	object := completed(t, s, raw)
	metadata, _ := object["metadata"].(map[string]any)
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, workloadv1.AnnotationUnconvertible)
		delete(annotations, workloadv1.AnnotationV1Fields)
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	return object
}

func withoutNulls(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			if value[name] = withoutNulls(child); child == nil {
				delete(value, name)
			}
		}
	case []any:
		for i := range value {
			value[i] = withoutNulls(value[i])
		}
	}
	return value
}
