package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/example/workload-operator/config"
)

func TestCRDsAt(t *testing.T) {
	type facts struct{ Served, Storage bool }
	type shape struct {
		Versions map[string]facts
		Strategy apiextensionsv1.ConversionStrategyType
	}
	tests := map[config.Step]shape{
		config.StepR1: {map[string]facts{"v1alpha1": {true, true}}, apiextensionsv1.NoneConverter},
		config.StepR2: {map[string]facts{"v1": {true, false}, "v1alpha1": {true, true}}, apiextensionsv1.WebhookConverter},
		config.StepR3: {map[string]facts{"v1": {true, true}, "v1alpha1": {true, false}}, apiextensionsv1.WebhookConverter},
		config.StepR4: {map[string]facts{"v1": {true, true}, "v1alpha1": {false, false}}, apiextensionsv1.WebhookConverter},
		config.StepR5: {map[string]facts{"v1": {true, true}}, apiextensionsv1.NoneConverter},
	}
	for step, want := range tests {
		t.Run(string(step), func(t *testing.T) {
			crds, err := config.CRDsAt(step)
			if err != nil {
				t.Fatal(err)
			}
			for _, crd := range crds {
				got := shape{map[string]facts{}, crd.Spec.Conversion.Strategy}
				for _, v := range crd.Spec.Versions {
					got.Versions[v.Name] = facts{v.Served, v.Storage}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", crd.Name, diff)
				}
				if got := config.StepOf(crd); got != step {
					t.Errorf("StepOf(%s) = %q, want %s", crd.Name, got, step)
				}
			}
		})
	}
}

// What is shipped is one of the steps, byte for byte.
func TestShippedStep(t *testing.T) {
	shipped, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	step, err := config.CRDsAt(config.StepR3)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shipped, step); diff != "" {
		t.Errorf("R3 (-shipped +step):\n%s", diff)
	}
}

func TestStepOfNoStep(t *testing.T) {
	for name, change := range map[string]func(*apiextensionsv1.CustomResourceDefinition){
		"another version": func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Name = "v2" },
		"no conversion":   func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Conversion = nil },
		"none served":     func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Served = false },
	} {
		t.Run(name, func(t *testing.T) {
			for _, crd := range crds(t) {
				change(crd)
				if got := config.StepOf(crd); got != "" {
					t.Errorf("StepOf(%s) = %s, want none", crd.Name, got)
				}
			}
		})
	}
}

func TestParseStep(t *testing.T) {
	if step, err := config.ParseStep("R4"); step != config.StepR4 || err != nil {
		t.Errorf("ParseStep(R4) = %q, %v", step, err)
	}
	for _, name := range []string{"", "r4", "R6"} {
		if _, err := config.ParseStep(name); err == nil {
			t.Errorf("ParseStep(%q) succeeds", name)
		}
	}
}
