package webapp

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// serviceFor returns the Service of a WebApp, which has exactly one port.
func serviceFor(w *appv1.WebApp) *applycorev1.ServiceApplyConfiguration {
	settings := orDefault(w.Spec.Service, appv1.ServiceSettings{})
	kind := corev1.ServiceType(settings.Type)
	if kind == "" {
		kind = corev1.ServiceTypeClusterIP
	}
	return applycorev1.Service(w.Name+appv1.ServiceSuffix, w.Namespace).
		WithLabels(labelsOf(w)).
		WithAnnotations(settings.Annotations).
		WithOwnerReferences(ownerOf(w)).
		WithSpec(applycorev1.ServiceSpec().
			WithType(kind).
			WithSelector(selectorOf(w)).
			WithPorts(applycorev1.ServicePort().
				WithName(portName).
				WithProtocol(corev1.ProtocolTCP).
				WithPort(portOf(w)).
				WithTargetPort(intstr.FromInt32(targetPortOf(w)))))
}

// portOf is the port of the Service.
func portOf(w *appv1.WebApp) int32 {
	if w.Spec.Port == 0 {
		return defaultPort
	}
	return w.Spec.Port
}

// targetPortOf is the port that the container listens on.
func targetPortOf(w *appv1.WebApp) int32 {
	return orDefault(w.Spec.TargetPort, portOf(w))
}
