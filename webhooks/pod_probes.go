package webhooks

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// validateProbes judges the handlers. CEL holds that there is exactly one in a probe, and the bounds of its numbers.
func validateProbes(probes *workloadv1.Probes, path *field.Path) field.ErrorList {
	if probes == nil {
		return nil
	}
	errs := validateProbe(probes.Startup, path.Child("startup"))
	errs = append(errs, validateProbe(probes.Readiness, path.Child("readiness"))...)
	return append(errs, validateProbe(probes.Liveness, path.Child("liveness"))...)
}

func validateProbe(probe *corev1.Probe, path *field.Path) field.ErrorList {
	switch {
	case probe == nil:
		return nil
	case probe.Exec != nil && len(probe.Exec.Command) == 0:
		return field.ErrorList{field.Required(path.Child("exec", "command"), "")}
	case probe.HTTPGet != nil:
		return validateHTTPGet(probe.HTTPGet, path.Child("httpGet"))
	case probe.TCPSocket != nil:
		return validatePortOrName(probe.TCPSocket.Port, path.Child("tcpSocket", "port"))
	case probe.GRPC != nil:
		errs := validatePortOrName(intstr.FromInt32(probe.GRPC.Port), path.Child("grpc", "port"))
		mode := oneOfPointer(path.Child("grpc", "mode"), probe.GRPC.Mode, corev1.GRPCProbeModePlaintext, corev1.GRPCProbeModeTLS)
		return append(errs, mode...)
	}
	return nil
}

func validateHTTPGet(get *corev1.HTTPGetAction, path *field.Path) field.ErrorList {
	errs := validatePortOrName(get.Port, path.Child("port"))
	errs = append(errs, oneOf(path.Child("scheme"), get.Scheme, "", corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	errs = append(errs, oneOfPointer(path.Child("protocol"), get.Protocol, corev1.HTTPProtocolHTTP1, corev1.HTTPProtocolHTTP2)...)
	for i, header := range get.HTTPHeaders {
		errs = append(errs, invalid(path.Child("httpHeaders").Index(i).Child("name"), header.Name, validation.IsHTTPHeaderName(header.Name))...)
	}
	if ptr.Deref(get.Protocol, "") == corev1.HTTPProtocolHTTP2 && (get.Scheme == corev1.URISchemeHTTPS || get.Host != "") {
		errs = append(errs, field.Invalid(path.Child("protocol"), *get.Protocol, "needs scheme HTTP, and no host"))
	}
	return errs
}

func validatePortOrName(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.Int {
		return invalid(path, port.IntVal, validation.IsValidPortNum(int(port.IntVal)))
	}
	return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
}
