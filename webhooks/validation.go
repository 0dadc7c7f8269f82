package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Verdict is what Rules think of a request.
type Verdict struct {
	// Errors are why the request is refused, in the field names of the version that the client wrote. None: it is allowed.
	Errors field.ErrorList

	// Warnings are for the client to see; they refuse nothing.
	Warnings []string
}

// Rules judge requests. They are safe for concurrent use.
type Rules struct {
	schemas map[schema.GroupKind]*Schema
	fields  ruleFields
}

// NewRules compiles the v1 schemas and CEL rules of our kinds.
func NewRules(crds []*apiextensionsv1.CustomResourceDefinition) (*Rules, error) {
	rules := &Rules{schemas: map[schema.GroupKind]*Schema{}, fields: ruleFieldsOf(crds)}
	for _, crd := range crds {
		compiled, err := NewSchema(crd, hubVersion)
		if err != nil {
			return nil, err
		}
		rules.schemas[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = compiled
	}
	for gk := range kinds {
		if rules.schemas[gk] == nil {
			return nil, fmt.Errorf("no CustomResourceDefinition for %s", gk)
		}
	}
	return rules, nil
}

// Validate judges a request after defaulting. The error is not nil only if the request cannot be judged: its kind is not
// ours, or an object is not of that kind in v1.
//
// On update only what the change makes worse is refused. An object that is being deleted is always allowed, whatever it
// looks like, because only its finalizers are still of interest.
func (r *Rules) Validate(ctx context.Context, request Request) (Verdict, error) {
	verdict, _, err := r.validate(ctx, request)
	return verdict, err
}

// validate also returns the errors in the field names of v1, by which rules are known.
func (r *Rules) validate(ctx context.Context, request Request) (Verdict, field.ErrorList, error) {
	kind, ok := kinds[request.Kind]
	if !ok {
		return Verdict{}, nil, fmt.Errorf("no rules for kind %s", request.Kind)
	}
	if err := request.check(); err != nil {
		return Verdict{}, nil, err
	}
	if beingDeleted(request.Object) || unchanged(request) {
		return Verdict{}, nil, nil
	}
	errs, err := r.judge(ctx, kind, request)
	if err != nil {
		return Verdict{}, nil, err
	}
	named, err := r.inWritersNames(ctx, kind, request, errs)
	return Verdict{Errors: named, Warnings: warn(request)}, errs, err
}

func (r *Rules) judge(ctx context.Context, kind kind, request Request) (field.ErrorList, error) {
	if request.inOlderVersion() {
		// The API server has checked the schema of the older version only.
		errs, err := r.schemas[request.Kind].validateRaw(ctx, request.Object, request.Old)
		if err != nil || len(errs) > 0 {
			return errs, err
		}
	}
	errs := r.apply(kind, request.Kind, request.Object)
	if request.Old != nil {
		errs = worse(errs, r.apply(kind, request.Kind, request.Old))
	}
	budget, err := validateBudget(request)
	return append(errs, budget...), err
}

// apply returns what the rules of a kind say about an object.
func (r *Rules) apply(kind kind, gk schema.GroupKind, object []byte) field.ErrorList {
	if errs := r.schemas[gk].endlessQuantities(object); len(errs) > 0 {
		return errs
	}
	return kind.validate(object)
}

func (s *Schema) validateRaw(ctx context.Context, raw, oldRaw []byte) (field.ErrorList, error) {
	object, err := s.Complete(raw)
	if err != nil {
		return nil, err
	}
	if oldRaw == nil {
		return s.Validate(ctx, object, nil), nil
	}
	old, err := s.Complete(oldRaw)
	if err != nil {
		return nil, err
	}
	return s.Validate(ctx, object, old), nil
}

func beingDeleted(object json.RawMessage) bool {
	return valueAt(object, "metadata", "deletionTimestamp") != nil
}

// unchanged is true if nothing that a rule reads differs from the stored object.
func unchanged(r Request) bool {
	if r.Old == nil {
		return false
	}
	for _, path := range [][]string{{"spec"}, {"metadata", "annotations"}} {
		if !sameValue(valueAt(r.Object, path...), valueAt(r.Old, path...)) {
			return false
		}
	}
	return true
}

// decoded decodes an object and applies rules to it. The API server has checked the schema, so decoding fails only for
// values that a schema lets through, such as a quantity that overflows. Names match exactly: "Volumes" is an unknown field.
func decoded[T any](raw []byte, rules func(*T) field.ErrorList) field.ErrorList {
	object := new(T)
	if err := utiljson.Unmarshal(raw, object); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("spec"), nil, err.Error())}
	}
	return rules(object)
}

// worse returns the errors that old does not have. Entries of a list may have moved, so their index does not count.
func worse(errs, old field.ErrorList) field.ErrorList {
	known := map[string]int{}
	for _, err := range old {
		known[identity(err)]++
	}
	var added field.ErrorList
	for _, err := range errs {
		if known[identity(err)] > 0 {
			known[identity(err)]--
			continue
		}
		added = append(added, err)
	}
	return added
}

var listIndex = regexp.MustCompile(`\[[0-9]+\]`)

func identity(err *field.Error) string {
	return listIndex.ReplaceAllString(err.Field, "[]") + " " + err.ErrorBody()
}
