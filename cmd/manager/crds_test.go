package main

import (
	"cmp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

func TestCRDsAreJudged(t *testing.T) {
	base := func() *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}, {Name: "v1", Served: true}},
				Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter},
			},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
				{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
			}},
		}
	}
	tests := map[string]struct {
		mutate func(*apiextensionsv1.CustomResourceDefinition)
		want   string
	}{
		"AsShipped":    {func(*apiextensionsv1.CustomResourceDefinition) {}, ""},
		"NoV1":         {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[1].Served = false }, "does not serve version v1"},
		"NoConversion": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Conversion = nil }, "no conversion webhook"},
		"OneVersion": {func(c *apiextensionsv1.CustomResourceDefinition) {
			c.Spec.Versions[0].Served, c.Spec.Conversion = false, nil
		}, ""},
		"NotEstablished": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Status.Conditions = nil }, "not established"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			crd := base()
			tc.mutate(crd)
			got := ""
			if err := cmp.Or(ofThisRelease(crd), established(crd)); err != nil {
				got = err.Error()
			}
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q in it", got, tc.want)
			}
		})
	}
}
