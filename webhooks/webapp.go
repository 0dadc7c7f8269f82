package webhooks

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// Requests written in v1alpha1 fail while the webhook is down: without it an old client would overwrite fields that it cannot
// see, and could bring in an invalid object through an annotation. Nothing else would be served either, because the same
// server converts. For the same reasons no namespace is excluded.
//
// +kubebuilder:webhook:path=/mutate-app-example-com-v1-webapp,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=app.example.com,resources=webapps,verbs=create;update,versions=v1,name=default-v1alpha1.webapps.app.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,patch=`{"matchConditions":[{"name":"written-in-v1alpha1","expression":"request.requestKind.version == 'v1alpha1'"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`
// +kubebuilder:webhook:path=/validate-app-example-com-v1-webapp,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=app.example.com,resources=webapps,verbs=create;update,versions=v1,name=validate-v1alpha1.webapps.app.example.com,admissionReviewVersions=v1,patch=`{"matchConditions":[{"name":"written-in-v1alpha1","expression":"request.requestKind.version == 'v1alpha1'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`

// Requests written in v1 pass while the webhook is down: the schema and its CEL rules still judge them, and what only the
// webhook judges shows as a condition.
//
// +kubebuilder:webhook:path=/mutate-app-example-com-v1-webapp,mutating=true,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=app.example.com,resources=webapps,verbs=create;update,versions=v1,name=default-v1.webapps.app.example.com,admissionReviewVersions=v1,reinvocationPolicy=IfNeeded,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","system"]}]},"matchConditions":[{"name":"written-in-v1","expression":"request.requestKind.version == 'v1'"},{"name":"needs-a-default","expression":"'workload.example.com/v1-fields' in object.?metadata.?annotations.orValue({}) || (object.?spec.?probes.?readiness.?httpGet.hasValue() && !object.spec.probes.readiness.httpGet.?port.hasValue())"}]}`
// +kubebuilder:webhook:path=/validate-app-example-com-v1-webapp,mutating=false,failurePolicy=ignore,matchPolicy=Equivalent,sideEffects=None,timeoutSeconds=5,groups=app.example.com,resources=webapps,verbs=create;update,versions=v1,name=validate-v1.webapps.app.example.com,admissionReviewVersions=v1,patch=`{"namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kube-system","system"]}]},"matchConditions":[{"name":"written-in-v1","expression":"request.requestKind.version == 'v1'"},{"name":"not-being-deleted","expression":"!has(object.metadata.deletionTimestamp)"},{"name":"changes-something","expression":"request.operation == 'CREATE' || object.?spec != oldObject.?spec || object.?metadata.?annotations != oldObject.?metadata.?annotations"}]}`

// validateWebApp holds the rules of WebApps that the schema does not.
func validateWebApp(app *appv1.WebApp) field.ErrorList {
	spec := field.NewPath("spec")
	errs := validatePodSettings(&app.Spec.PodSettings, spec)
	if service := app.Spec.Service; service != nil {
		errs = append(errs, apivalidation.ValidateAnnotations(service.Annotations, spec.Child("service", "annotations"))...)
	}
	if ingress := app.Spec.Ingress; ingress != nil {
		errs = append(errs, apivalidation.ValidateAnnotations(ingress.Annotations, spec.Child("ingress", "annotations"))...)
	}
	return errs
}
