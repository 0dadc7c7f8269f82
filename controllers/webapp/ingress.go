package webapp

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	applynetworkingv1 "k8s.io/client-go/applyconfigurations/networking/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// ingressFor returns the Ingress of a WebApp, or nil if it asks for none.
func ingressFor(w *appv1.WebApp) *applynetworkingv1.IngressApplyConfiguration {
	settings := w.Spec.Ingress
	if settings == nil {
		return nil
	}
	spec := applynetworkingv1.IngressSpec().WithRules(applynetworkingv1.IngressRule().
		WithHost(settings.Host).
		WithHTTP(applynetworkingv1.HTTPIngressRuleValue().WithPaths(applynetworkingv1.HTTPIngressPath().
			WithPath(pathOf(settings)).
			WithPathType(networkingv1.PathTypePrefix).
			WithBackend(applynetworkingv1.IngressBackend().WithService(applynetworkingv1.IngressServiceBackend().
				WithName(w.Name + appv1.ServiceSuffix).
				WithPort(applynetworkingv1.ServiceBackendPort().WithName(portName)))))))
	if settings.ClassName != nil {
		spec.WithIngressClassName(*settings.ClassName)
	}
	if settings.TLSSecretName != "" {
		spec.WithTLS(applynetworkingv1.IngressTLS().WithHosts(settings.Host).WithSecretName(settings.TLSSecretName))
	}
	return applynetworkingv1.Ingress(w.Name+appv1.IngressSuffix, w.Namespace).
		WithLabels(labelsOf(w)).
		WithAnnotations(settings.Annotations).
		WithOwnerReferences(ownerOf(w)).
		WithSpec(spec)
}

func pathOf(settings *appv1.IngressSettings) string {
	if settings.Path == "" {
		return "/"
	}
	return settings.Path
}

// urlOf is where the application is reached: through the Ingress, unless its host is a wildcard, else in the cluster.
func urlOf(w *appv1.WebApp) string {
	settings := w.Spec.Ingress
	if settings == nil || strings.HasPrefix(settings.Host, "*") {
		host := fmt.Sprintf("http://%s%s.%s.svc", w.Name, appv1.ServiceSuffix, w.Namespace)
		if port := portOf(w); port != defaultPort {
			return fmt.Sprintf("%s:%d", host, port)
		}
		return host
	}
	scheme := "http"
	if settings.TLSSecretName != "" {
		scheme = "https"
	}
	return scheme + "://" + settings.Host + pathOf(settings)
}
