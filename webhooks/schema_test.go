package webhooks

import (
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsvalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/workload-operator/config"
)

// The API server accepts the shipped CustomResourceDefinitions: they are structural, and all CEL rules compile within
// their cost limits.
func TestShippedDefinitions(t *testing.T) {
	for _, crd := range shipped(t) {
		for _, err := range definitionErrors(t, crd) {
			t.Errorf("%s: %v", crd.Name, err)
		}
		for _, version := range crd.Spec.Versions {
			if _, err := NewSchema(crd, version.Name); err != nil {
				t.Error(err)
			}
		}
	}
}

// The check above finds rules that do not compile and rules that cost too much.
func TestShippedDefinitionsControl(t *testing.T) {
	for rule, want := range map[string]string{
		"self.image.sign() > 0":                             "compilation failed",
		"self.args.all(a, self.args.all(b, a.contains(b)))": "exceeds budget",
	} {
		crd := shipped(t)[0]
		root := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for i := range crd.Spec.Versions {
			if crd.Spec.Versions[i].Name == hubVersion {
				root = crd.Spec.Versions[i].Schema.OpenAPIV3Schema
			}
		}
		spec := root.Properties["spec"]
		spec.XValidations = append(spec.XValidations, apiextensionsv1.ValidationRule{Rule: rule, Message: "x"})
		root.Properties["spec"] = spec
		if errs := definitionErrors(t, crd); !strings.Contains(errs.ToAggregate().Error(), want) {
			t.Errorf("%s: got %v, want %q", rule, errs, want)
		}
	}
}

// Unknown fields and nulls go, defaults come, as in the API server.
func TestComplete(t *testing.T) {
	schemas := rules(t).schemas
	object, err := schemas[webApp].Complete([]byte(`{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": "a", "labels": {"b": "c"}},
		"spec": {"image": "web", "unknown": 1, "volumes": null}}`))
	if err != nil {
		t.Fatal(err)
	}
	spec, _ := object["spec"].(map[string]any)
	if len(spec) != 3 || spec["image"] != "web" || spec["replicas"] != int64(1) || spec["port"] != int64(80) {
		t.Errorf("spec is %v", spec)
	}
	if metadata, _ := object["metadata"].(map[string]any); len(metadata) != 2 {
		t.Errorf("metadata is %v", metadata)
	}
}

func TestNewRulesNeedsEveryKind(t *testing.T) {
	if _, err := NewRules(shipped(t)[:1]); err == nil || !strings.Contains(err.Error(), "no CustomResourceDefinition for") {
		t.Errorf("got %v", err)
	}
	crd := shipped(t)[0]
	crd.Spec.Versions = nil
	if _, err := NewRules([]*apiextensionsv1.CustomResourceDefinition{crd}); err == nil || !strings.Contains(err.Error(), `no schema for version "v1"`) {
		t.Errorf("got %v", err)
	}
}

func shipped(t testing.TB) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	return crds
}

func definitionErrors(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	t.Helper()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	internal := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, internal, nil); err != nil {
		t.Fatal(err)
	}
	return apiextensionsvalidation.ValidateCustomResourceDefinition(t.Context(), internal)
}
