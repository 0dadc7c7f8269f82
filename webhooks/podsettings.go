package webhooks

import (
	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// validatePodSettings holds the rules that both kinds share. The schema holds the others: what is refused here is what a
// schema cannot say and the API of Pods and Deployments would refuse, so that no child is ever refused instead.
func validatePodSettings(settings *workloadv1.PodSettings, spec *field.Path) field.ErrorList {
	errs := validateImage(settings.Image, spec.Child("image"))
	errs = append(errs, validateEnv(settings.Env, settings.Volumes, spec.Child("env"))...)
	errs = append(errs, validateEnvFrom(settings.EnvFrom, spec.Child("envFrom"))...)
	errs = append(errs, validateResources(&settings.Resources, spec.Child("resources"))...)
	errs = append(errs, validateProbes(settings.Probes, spec.Child("probes"))...)
	errs = append(errs, validateVolumes(settings.Volumes, spec.Child("volumes"))...)
	errs = append(errs, validateVolumeMounts(settings, spec.Child("volumeMounts"))...)
	errs = append(errs, validatePodSecurityContext(settings.PodSecurityContext, spec.Child("podSecurityContext"))...)
	errs = append(errs, validateSecurityContext(settings.SecurityContext, spec.Child("securityContext"))...)
	errs = append(errs, validateScheduling(settings, spec)...)
	errs = append(errs, metav1validation.ValidateLabels(settings.PodLabels, spec.Child("podLabels"))...)
	return append(errs, apivalidation.ValidateAnnotations(settings.PodAnnotations, spec.Child("podAnnotations"))...)
}

// validateImage accepts what a container runtime can pull. The schema holds the length.
func validateImage(image string, path *field.Path) field.ErrorList {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return field.ErrorList{field.Invalid(path, image, "must be an image reference such as registry.example.com/web:1.25: "+err.Error())}
	}
	return nil
}

// validatePorts judges ports of a container. The schema holds uniqueness of number and protocol.
func validatePorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, port := range ports {
		at := path.Index(i)
		errs = append(errs, invalid(at.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))...)
		if port.HostPort != 0 {
			errs = append(errs, invalid(at.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))...)
		}
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)...)
		if port.Name == "" {
			continue
		}
		errs = append(errs, invalid(at.Child("name"), port.Name, validation.IsValidPortName(port.Name))...)
		if names[port.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		}
		names[port.Name] = true
	}
	return errs
}

// invalid turns the messages of apimachinery's validators into errors.
func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range messages {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}

// oneOf refuses a value that is not in the list. An empty string in the list means that the field may be unset.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	named := make([]T, 0, len(allowed))
	for _, candidate := range allowed {
		if value == candidate {
			return nil
		}
		if candidate != "" {
			named = append(named, candidate)
		}
	}
	return field.ErrorList{field.NotSupported(path, value, named)}
}

// oneOfPointer is oneOf for a field that is unset when it is nil.
func oneOfPointer[T ~string](path *field.Path, value *T, allowed ...T) field.ErrorList {
	if value == nil {
		return nil
	}
	return oneOf(path, *value, allowed...)
}
