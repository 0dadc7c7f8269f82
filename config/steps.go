package config

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// The two versions of every kind.
const (
	hub   = "v1"
	spoke = "v1alpha1"
)

// Step is a stage on the road of the CustomResourceDefinitions from the older version to the newer one.
type Step string

// The steps. Each differs from its neighbours in one respect, so that going on or back is one change.
const (
	// StepR1 serves and stores v1alpha1; there is no v1, and nothing is converted.
	StepR1 Step = "R1"
	// StepR2 serves both versions through the conversion webhook, and stores v1alpha1.
	StepR2 Step = "R2"
	// StepR3 serves both versions and stores v1. It is what a release ships.
	StepR3 Step = "R3"
	// StepR4 no longer serves v1alpha1, but can still convert what is stored in it.
	StepR4 Step = "R4"
	// StepR5 has no v1alpha1, and nothing is converted.
	StepR5 Step = "R5"
)

// Steps returns all steps in the order of the road.
func Steps() []Step { return []Step{StepR1, StepR2, StepR3, StepR4, StepR5} }

// ParseStep returns the step of that name. The error lists the names there are.
func ParseStep(name string) (Step, error) {
	if step := Step(name); slices.Contains(Steps(), step) {
		return step, nil
	}
	var names []string
	for _, step := range Steps() {
		names = append(names, string(step))
	}
	return "", fmt.Errorf("no step %q: use one of %s", name, strings.Join(names, ", "))
}

// CRDsAt returns the CustomResourceDefinitions of all kinds as they are at a step, sorted by file name. The caller owns them.
// As those of CRDs, they name the webhook Service of the default installation and have no caBundle.
func CRDsAt(step Step) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		step.shape(crd)
	}
	return crds, nil
}

// shape makes a shipped definition one of the step.
func (s Step) shape(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Spec.Versions = slices.DeleteFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == hub && s == StepR1 || v.Name == spoke && s == StepR5
	})
	stored := hub
	if s == StepR1 || s == StepR2 {
		stored = spoke
	}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Storage = v.Name == stored
		v.Served = v.Name == hub || s != StepR4
	}
	if len(crd.Spec.Versions) == 1 {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
}

// StepOf returns the step that a definition is at, empty if it is at none. Only versions and conversion strategy count, so a
// definition of another release is recognized too.
func StepOf(crd *apiextensionsv1.CustomResourceDefinition) Step {
	for _, step := range Steps() {
		model := &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Versions:   []apiextensionsv1.CustomResourceDefinitionVersion{{Name: hub}, {Name: spoke}},
			Conversion: &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter},
		}}
		step.shape(model)
		if outline(model) == outline(crd) {
			return step
		}
	}
	return ""
}

// outline says what a definition serves and stores, and how it converts.
func outline(crd *apiextensionsv1.CustomResourceDefinition) string {
	var versions []string
	for _, v := range crd.Spec.Versions {
		versions = append(versions, fmt.Sprintf("%s served=%t storage=%t", v.Name, v.Served, v.Storage))
	}
	slices.Sort(versions)
	strategy := apiextensionsv1.NoneConverter
	if crd.Spec.Conversion != nil {
		strategy = crd.Spec.Conversion.Strategy
	}
	return strings.Join(append(versions, string(strategy)), ", ")
}
