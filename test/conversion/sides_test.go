package conversion

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// side is one version of one kind, as it is shipped.
type side struct {
	gvk        schema.GroupVersionKind
	judge      *webhooks.Schema
	structural *structuralschema.Structural
	root       *node
}

// pair is a version and the other one of the same kind.
type pair struct{ from, to side }

func (p pair) String() string {
	return fmt.Sprintf("%s/%s-to-%s", p.from.gvk.Kind, p.from.gvk.Version, p.to.gvk.Version)
}

// pairs are both directions of both kinds.
var pairs = sync.OnceValues(func() ([]pair, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	var all []pair
	for _, crd := range crds {
		hub, err := newSide(crd, "v1")
		if err != nil {
			return nil, err
		}
		spoke, err := newSide(crd, "v1alpha1")
		if err != nil {
			return nil, err
		}
		all = append(all, pair{spoke, hub}, pair{hub, spoke})
	}
	return all, nil
})

// forEachPair runs a subtest for both directions of both kinds.
func forEachPair(t *testing.T, test func(*testing.T, pair)) {
	t.Helper()
	all, err := pairs()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 4 {
		t.Fatalf("%d directions, want those of two kinds", len(all))
	}
	for _, p := range all {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			test(t, p)
		})
	}
}

func newSide(crd *apiextensionsv1.CustomResourceDefinition, version string) (side, error) {
	judge, err := webhooks.NewSchema(crd, version)
	if err != nil {
		return side{}, err
	}
	gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version, Kind: crd.Spec.Names.Kind}
	for _, candidate := range crd.Spec.Versions {
		if candidate.Name != version {
			continue
		}
		internal := &apiextensions.CustomResourceValidation{}
		if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(candidate.Schema, internal, nil); err != nil {
			return side{}, err
		}
		structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
		if err != nil {
			return side{}, err
		}
		return side{gvk: gvk, judge: judge, structural: structural, root: newNode(structural, "", "")}, nil
	}
	return side{}, fmt.Errorf("%s has no version %s", crd.Name, version)
}

// completed is what the API server makes of an object of a version before it judges it.
func completed(t testing.TB, s side, raw []byte) map[string]any {
	t.Helper()
	object, err := s.judge.Complete(raw)
	if err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return object
}

// accepts judges an object as the API server does on create.
func (s side) accepts(t testing.TB, raw []byte) field.ErrorList {
	t.Helper()
	return s.judge.Validate(t.Context(), completed(t, s, raw), nil)
}

// pruned are the fields of an object that the schema does not know.
func (s side) pruned(t testing.TB, raw []byte) []string {
	t.Helper()
	return pruning.PruneWithOptions(decoded(t, raw), s.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

func (s side) apiVersion() string { return s.gvk.GroupVersion().String() }

// convert converts and fails the test if conversion does, or if it loses something.
func convert(t testing.TB, raw []byte, to string) []byte {
	t.Helper()
	result, err := conversion.Convert(raw, to)
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	if len(result.Lost)+result.Malformed > 0 {
		t.Fatalf("lost %v, malformed %d: %s", result.Lost, result.Malformed, raw)
	}
	return result.Object
}

// decoded decodes as the API server does: whole numbers are int64.
func decoded(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return object
}

func encoded(t testing.TB, object any) []byte {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func describe(errs field.ErrorList) string {
	var lines []string
	for _, err := range errs {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}
