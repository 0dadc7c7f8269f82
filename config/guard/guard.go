package guard

import (
	"context"
	_ "embed" // the policy
	"errors"
	"fmt"
	"slices"
	"sync"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

//go:embed crd_guard.yaml
var policyFile []byte

// rules are the compiled policy.
var rules = sync.OnceValues(compile)

// Check returns nil when a definition may be created, or live be changed into next. The error has one line that says what would
// be lost and what to run instead. live is nil when the definition does not exist. The status of next is not looked at.
//
// It judges as the policy does in the cluster, where the API server has checked more by then.
func Check(ctx context.Context, live, next *apiextensionsv1.CustomResourceDefinition) error {
	validator, err := rules()
	if err != nil {
		return err
	}
	input := attributes(live, next)
	result := validator.Validate(ctx, input.GetResource(), input, nil, nil, celconfig.RuntimeCELCostBudget, nil)
	for _, decision := range result.Decisions {
		if decision.Action != validating.ActionAdmit {
			return errors.New(decision.Message)
		}
	}
	return nil
}

// compile does what the API server does when it sees the policy.
func compile() (validating.Validator, error) {
	policy := &admissionv1.ValidatingAdmissionPolicy{}
	if err := yaml.UnmarshalStrict(policyFile, policy); err != nil {
		return nil, fmt.Errorf("decoding the policy: %w", err)
	}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, fmt.Errorf("preparing the compiler of the policy: %w", err)
	}
	declared := cel.OptionalVariableDeclarations{}
	for _, v := range policy.Spec.Variables {
		variable := &validating.Variable{Name: v.Name, Expression: v.Expression}
		if result := compiler.CompileAndStoreVariable(variable, declared, environment.StoredExpressions); result.Error != nil {
			return nil, fmt.Errorf("compiling variable %s of the policy: %w", v.Name, result.Error)
		}
	}
	var conditions, messages []cel.ExpressionAccessor
	for _, v := range policy.Spec.Validations {
		conditions = append(conditions, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		messages = append(messages, &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression})
	}
	condition := compiler.CompileCondition(conditions, declared, environment.StoredExpressions)
	message := compiler.CompileCondition(messages, declared, environment.StoredExpressions)
	if err := errors.Join(append(condition.CompilationErrors(), message.CompilationErrors()...)...); err != nil {
		return nil, fmt.Errorf("compiling the policy: %w", err)
	}
	none := compiler.CompileCondition(nil, declared, environment.StoredExpressions)
	return validating.NewValidator(condition, nil, none, message, policy.Spec.FailurePolicy, nil), nil
}

// attributes are those of the request that changes live into next.
func attributes(live, next *apiextensionsv1.CustomResourceDefinition) *admission.VersionedAttributes {
	kind := apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition")
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	next = next.DeepCopy()
	next.Status = apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{}}
	operation := admission.Create
	var old runtime.Object // stays nil when there is none; a nil pointer in it would not be
	if live != nil {
		operation, old = admission.Update, live
		next.Status.StoredVersions = append(next.Status.StoredVersions, live.Status.StoredVersions...)
	}
	addStorageVersion(next)
	record := admission.NewAttributesRecord(next, old, kind, "", next.Name, resource, "", operation, nil, false, nil)
	return &admission.VersionedAttributes{
		Attributes: record, VersionedKind: kind,
		VersionedObject: admission.NewLazyObject(next), VersionedOldObject: admission.NewLazyObject(old),
	}
}

// addStorageVersion does what the API server does before it asks the policy: what is about to be stored counts as stored.
func addStorageVersion(crd *apiextensionsv1.CustomResourceDefinition) {
	for _, version := range crd.Spec.Versions {
		if version.Storage && !slices.Contains(crd.Status.StoredVersions, version.Name) {
			crd.Status.StoredVersions = append(crd.Status.StoredVersions, version.Name)
		}
	}
}
