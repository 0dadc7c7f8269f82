package webhooks

import (
	"net"
	"strconv"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
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
	errs = append(errs, validateStrategy(app.Spec.Strategy, spec.Child("strategy"))...)
	if service := app.Spec.Service; service != nil {
		errs = append(errs, apivalidation.ValidateAnnotations(service.Annotations, spec.Child("service", "annotations"))...)
	}
	return append(errs, validateIngress(app.Spec.Ingress, spec.Child("ingress"))...)
}

// validateStrategy refuses a rolling update that could not take a step. CEL refuses the usual spellings of zero.
func validateStrategy(strategy *appv1.Strategy, path *field.Path) field.ErrorList {
	if strategy == nil || strategy.RollingUpdate == nil {
		return nil
	}
	surge, unavailable := strategy.RollingUpdate.MaxSurge, strategy.RollingUpdate.MaxUnavailable
	if isZero(surge) && isZero(unavailable) {
		return field.ErrorList{field.Invalid(path.Child("rollingUpdate"), unavailable.String(), "maxSurge and maxUnavailable must not both be zero")}
	}
	return nil
}

// isZero is true for 0 and for any percentage that is zero. Unset is not zero.
func isZero(value *intstr.IntOrString) bool {
	if value == nil {
		return false
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(value.String(), "%"))
	return err == nil && percent == 0
}

// validateIngress judges what the schema's patterns let through.
func validateIngress(ingress *appv1.IngressSettings, path *field.Path) field.ErrorList {
	if ingress == nil {
		return nil
	}
	errs := apivalidation.ValidateAnnotations(ingress.Annotations, path.Child("annotations"))
	if strings.HasPrefix(ingress.Host, "*") {
		errs = append(errs, invalid(path.Child("host"), ingress.Host, validation.IsWildcardDNS1123Subdomain(ingress.Host))...)
	} else {
		errs = append(errs, invalid(path.Child("host"), ingress.Host, validation.IsDNS1123Subdomain(ingress.Host))...)
	}
	if net.ParseIP(ingress.Host) != nil {
		errs = append(errs, field.Invalid(path.Child("host"), ingress.Host, "must be a name, not an address"))
	}
	errs = append(errs, validateIngressPath(ingress.Path, path.Child("path"))...)
	if ingress.ClassName != nil {
		errs = append(errs, invalid(path.Child("className"), *ingress.ClassName, validation.IsDNS1123Subdomain(*ingress.ClassName))...)
	}
	if name := ingress.TLSSecretName; name != "" {
		errs = append(errs, invalid(path.Child("tlsSecretName"), name, validation.IsDNS1123Subdomain(name))...)
	}
	return errs
}

func validateIngressPath(value string, path *field.Path) field.ErrorList {
	for _, sequence := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(value, sequence) {
			return field.ErrorList{field.Invalid(path, value, "must not contain "+sequence)}
		}
	}
	for _, suffix := range []string{"/..", "/."} {
		if strings.HasSuffix(value, suffix) {
			return field.ErrorList{field.Invalid(path, value, "must not end with "+suffix)}
		}
	}
	return nil
}
