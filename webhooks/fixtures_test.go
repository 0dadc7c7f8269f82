package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/workload-operator/config"
)

var (
	webApp = schema.GroupKind{Group: "app.example.com", Kind: "WebApp"}
	podSet = schema.GroupKind{Group: "batch.example.com", Kind: "PodSet"}
)

// bases are a valid object of each kind and version, without anything to warn of.
var bases = map[schema.GroupVersionKind]string{
	webApp.WithVersion("v1"): `{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": "web", "namespace": "default"},
		"spec": {"image": "web:1.25", "replicas": 2, "port": 80, "resources": {"requests": {"cpu": "100m"}},
		"probes": {"readiness": {"httpGet": {"path": "/h", "port": 8080}}}}}`,
	podSet.WithVersion("v1"): `{"apiVersion": "batch.example.com/v1", "kind": "PodSet", "metadata": {"name": "set", "namespace": "default"},
		"spec": {"image": "web:1.25", "replicas": 2, "resources": {"requests": {"cpu": "100m"}},
		"probes": {"readiness": {"httpGet": {"path": "/h", "port": 8080}}}}}`,
	webApp.WithVersion("v1alpha1"): `{"apiVersion": "app.example.com/v1alpha1", "kind": "WebApp", "metadata": {"name": "web", "namespace": "default"},
		"spec": {"image": {"repository": "web", "tag": "1.25"}, "scale": {"instances": 2}, "expose": {"port": 80},
		"resources": {"cpu": "100m"}, "healthCheck": {"path": "/h"}}}`,
	podSet.WithVersion("v1alpha1"): `{"apiVersion": "batch.example.com/v1alpha1", "kind": "PodSet", "metadata": {"name": "set", "namespace": "default"},
		"spec": {"size": 2, "container": {"image": "web:1.25", "resources": {"requests": {"cpu": "100m"}}}}}`,
}

// base returns the valid object of a kind and version, changed by JSON merge patches.
func base(t testing.TB, gvk schema.GroupVersionKind, patches ...string) []byte {
	t.Helper()
	return merged(t, bases[gvk], patches...)
}

// merged applies JSON merge patches (RFC 7386). Numbers stay as they are written.
func merged(t testing.TB, object string, patches ...string) []byte {
	t.Helper()
	value := exact(t, object)
	for _, patch := range patches {
		value = merge(value, exact(t, patch))
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func exact(t testing.TB, text string) any {
	t.Helper()
	value, err := decodeExact(json.RawMessage(text))
	if err != nil {
		t.Fatalf("bad JSON in a test: %v\n%s", err, text)
	}
	return value
}

func merge(value, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := value.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, change := range changes {
		if change == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], change)
		}
	}
	return object
}

// rules compiles the shipped CustomResourceDefinitions.
func rules(t testing.TB) *Rules {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := NewRules(crds)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// verdict judges a request written in v1 like the API server with our webhooks: schema and CEL first, then the rules.
func verdict(t testing.TB, r *Rules, request Request) field.ErrorList {
	t.Helper()
	errs, err := r.schemas[request.Kind].validateRaw(t.Context(), request.Object, request.Old)
	if err != nil {
		t.Fatal(err)
	}
	if len(errs) > 0 {
		return errs
	}
	judged, err := r.Validate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	return judged.Errors
}

// checkField fails unless every error is about the wanted field or something in it. No field wanted: no error.
func checkField(t testing.TB, errs field.ErrorList, want string) {
	t.Helper()
	if want == "" {
		if len(errs) > 0 {
			t.Errorf("refused: %v", errs.ToAggregate())
		}
		return
	}
	if len(errs) == 0 {
		t.Errorf("accepted, want a refusal at %s", want)
	}
	for _, err := range errs {
		// The API server says of an object of the wrong shape that CEL did not run, without a field.
		if !strings.HasPrefix(err.Field, want) && err.Field != "" && err.Field != "<nil>" {
			t.Errorf("refused at %s, want %s: %v", err.Field, want, err)
		}
	}
}

func long(length int) string {
	return strings.Repeat("a", length)
}
