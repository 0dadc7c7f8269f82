package webhooks

import (
	"fmt"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/util/validation/field"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// Requests written in v1alpha1 fail while the webhook is down: without it an old client would overwrite fields that it cannot
// see, and could bring in an invalid object through an annotation. Nothing else would be served either, because the same
// server converts. For the same reasons no namespace is excluded.
//
// +kubebuilder:webhook:path=/mutate-batch-example-com-v1-podset,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=batch.example.com,resources=podsets,verbs=create;update,versions=v1,name=default-v1alpha1.podsets.batch.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,patch=`{"matchConditions":[{"name":"written-in-v1alpha1","expression":"request.requestKind.version == 'v1alpha1'"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`
// +kubebuilder:webhook:path=/validate-batch-example-com-v1-podset,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=batch.example.com,resources=podsets,verbs=create;update,versions=v1,name=validate-v1alpha1.podsets.batch.example.com,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"written-in-v1alpha1","expression":"request.requestKind.version == 'v1alpha1'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`

// Requests written in v1 pass while the webhook is down: the schema and its CEL rules still judge them, and what only the
// webhook judges shows as a condition.
//
// +kubebuilder:webhook:path=/mutate-batch-example-com-v1-podset,mutating=true,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=batch.example.com,resources=podsets,verbs=create;update,versions=v1,name=default-v1.podsets.batch.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","system"]}]},"matchConditions":[{"name":"written-in-v1","expression":"request.requestKind.version == 'v1'"},{"name":"needs-a-default","expression":"'workload.example.com/v1-fields' in object.?metadata.?annotations.orValue({})"}]}`
// +kubebuilder:webhook:path=/validate-batch-example-com-v1-podset,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=batch.example.com,resources=podsets,verbs=create;update,versions=v1,name=validate-v1.podsets.batch.example.com,admissionReviewVersions=v1,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","system"]}]},"matchConditions":[{"name":"written-in-v1","expression":"request.requestKind.version == 'v1'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`

// maxDescription is the bound of spec.description in v1alpha1, in characters.
const maxDescription = 4096

// validatePodSet holds the rules of PodSets that the schema does not.
func validatePodSet(set *batchv1.PodSet) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validatePodSettings(&set.Spec.PodSettings, spec)
	errs = append(errs, validatePorts(set.Spec.Ports, spec.Child("ports"))...)
	return append(errs, validateDescription(set.Annotations)...)
}

// validateDescription keeps every object within what v1alpha1 can say. Its backup from there could not be restored otherwise.
func validateDescription(annotations map[string]string) field.ErrorList {
	if utf8.RuneCountInString(annotations[batchv1.AnnotationDescription]) <= maxDescription {
		return nil
	}
	at := field.NewPath("metadata", "annotations").Key(batchv1.AnnotationDescription)
	return field.ErrorList{{Type: field.ErrorTypeTooLong, Field: at.String(), Detail: fmt.Sprintf("must be at most %d characters", maxDescription)}}
}
