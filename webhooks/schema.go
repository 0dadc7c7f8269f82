package webhooks

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Schema judges objects by the schema and the CEL rules of one version of a CustomResourceDefinition, as the API server
// does. It is safe for concurrent use.
type Schema struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// NewSchema compiles the schema and all CEL rules of a version of crd. The error names what does not compile.
func NewSchema(crd *apiextensionsv1.CustomResourceDefinition, version string) (*Schema, error) {
	properties, err := propertiesOf(crd, version)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(properties)
	if err != nil {
		return nil, fmt.Errorf("schema of %s %s: %w", crd.Name, version, err)
	}
	openAPI, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		return nil, fmt.Errorf("schema of %s %s: %w", crd.Name, version, err)
	}
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	return &Schema{structural: structural, openAPI: openAPI, rules: rules}, nil
}

func propertiesOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (*apiextensions.JSONSchemaProps, error) {
	for _, candidate := range crd.Spec.Versions {
		if candidate.Name != version || candidate.Schema == nil {
			continue
		}
		internal := &apiextensions.CustomResourceValidation{}
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(candidate.Schema, internal, nil)
		return internal.OpenAPIV3Schema, err
	}
	return nil, fmt.Errorf("%s has no schema for version %q", crd.Name, version)
}

// Complete decodes an object and does to it what the API server does before it validates: unknown fields and forbidden
// nulls are dropped, schema defaults are filled in.
func (s *Schema) Complete(raw []byte) (map[string]any, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	s.complete(object)
	return object, nil
}

// complete does it to a decoded object, and returns the paths of the unknown fields.
func (s *Schema) complete(object map[string]any) (unknown []string) {
	unknown = prune(object, s.structural)
	defaulting.PruneNonNullableNullsWithoutDefaults(object, s.structural)
	defaulting.Default(object, s.structural)
	return unknown
}

// Validate judges an object that Complete returned. With old, which is nil on create, it ratchets: what is wrong and
// unchanged is not reported, and transition rules apply.
//
// Like in the API server, CEL does not run on an object of the wrong shape.
func (s *Schema) Validate(ctx context.Context, object, old map[string]any) field.ErrorList {
	return s.validateAfter(ctx, nil, object, old)
}

// validateAfter adds to errors that were found in metadata. They can keep CEL from running, too.
func (s *Schema) validateAfter(ctx context.Context, errs field.ErrorList, object, old map[string]any) field.ErrorList {
	if old == nil {
		errs = append(errs, validation.ValidateCustomResource(nil, object, s.openAPI)...)
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
		return s.withRules(ctx, errs, object, nil)
	}
	unchanged := common.NewCorrelatedObject(object, old, &model.Structural{Structural: s.structural})
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, object, old, s.openAPI, validation.WithRatcheting(unchanged))...)
	if len(listtype.ValidateListSetsAndMaps(nil, s.structural, old)) == 0 {
		errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	}
	return s.withRules(ctx, errs, object, old, cel.WithRatcheting(unchanged))
}

func (s *Schema) withRules(
	ctx context.Context, errs field.ErrorList, object, old map[string]any, options ...cel.Option,
) field.ErrorList {
	if s.rules == nil || wrongShape(errs) {
		return errs
	}
	// CEL tells "no old object" from a typed nil.
	var previous any
	if old != nil {
		previous = old
	}
	found, _ := s.rules.Validate(ctx, nil, s.structural, object, previous, celconfig.RuntimeCELCostBudget, options...)
	return append(errs, found...)
}

// wrongShape is true if CEL could not make sense of the object.
func wrongShape(errs field.ErrorList) bool {
	for _, err := range errs {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return true
		}
	}
	return false
}
