package main

import (
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/workload-operator/config"
)

// Every quantity that is shipped is bounded. A new spelling of the pattern in controller-gen would get past it.
func TestQuantitiesAreBounded(t *testing.T) {
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	var check func(*apiextensionsv1.JSONSchemaProps)
	check = func(schema *apiextensionsv1.JSONSchemaProps) {
		if schema == nil {
			return
		}
		if schema.XIntOrString && schema.Pattern != "" {
			count++
			pattern := regexp.MustCompile(schema.Pattern)
			for text, want := range map[string]bool{"1e3": true, "-1E+18": true, "64Mi": true, "100m": true, ".5": true, "1e100": false, "-1.5e999999999": false, "1e-999": false} {
				if pattern.MatchString(text) != want {
					t.Errorf("%s matches %s: %t", text, schema.Pattern, !want)
				}
			}
		}
		for _, property := range schema.Properties {
			check(&property)
		}
		if schema.Items != nil {
			check(schema.Items.Schema)
		}
		if schema.AdditionalProperties != nil {
			check(schema.AdditionalProperties.Schema)
		}
	}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			check(version.Schema.OpenAPIV3Schema)
		}
	}
	if count < 10 {
		t.Errorf("found %d quantities", count)
	}
}

func TestBoundQuantities(t *testing.T) {
	quantity := apiextensionsv1.JSONSchemaProps{XIntOrString: true, Pattern: "^1" + anyExponent + "?$"}
	schema := &apiextensionsv1.JSONSchemaProps{
		Properties: map[string]apiextensionsv1.JSONSchemaProps{"a": quantity, "b": {AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: quantity.DeepCopy()}}},
		Items:      &apiextensionsv1.JSONSchemaPropsOrArray{Schema: quantity.DeepCopy()},
	}
	if found := boundQuantities(schema); found != 3 {
		t.Errorf("found %d, want 3", found)
	}
	for _, pattern := range []string{schema.Properties["a"].Pattern, schema.Properties["b"].AdditionalProperties.Schema.Pattern, schema.Items.Schema.Pattern} {
		if !strings.Contains(pattern, shortExponent) {
			t.Errorf("left as it was: %s", pattern)
		}
	}
}
