package webhooks

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// fields of a Pod that an environment variable may take its value from.
var podFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

// resources of a container that an environment variable may take its value from, apart from huge pages.
var containerResources = []string{
	"limits.cpu", "limits.memory", "limits.ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
}

func validateEnv(env []corev1.EnvVar, volumes []workloadv1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, variable := range env {
		at := path.Index(i)
		if variable.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, invalid(at.Child("name"), variable.Name, validation.IsRelaxedEnvVarName(variable.Name))...)
		}
		if variable.ValueFrom == nil {
			continue
		}
		if variable.Value != "" {
			errs = append(errs, field.Invalid(at.Child("valueFrom"), "", "must not be set together with value"))
		}
		errs = append(errs, validateEnvSource(variable.ValueFrom, volumes, at.Child("valueFrom"))...)
	}
	return errs
}

func validateEnvSource(source *corev1.EnvVarSource, volumes []workloadv1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	sources := 0
	if ref := source.FieldRef; ref != nil {
		sources++
		errs = append(errs, validateFieldRef(ref, path.Child("fieldRef"))...)
	}
	if ref := source.ResourceFieldRef; ref != nil {
		sources++
		errs = append(errs, validateResourceFieldRef(ref, path.Child("resourceFieldRef"))...)
	}
	if ref := source.ConfigMapKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("configMapKeyRef"))...)
	}
	if ref := source.SecretKeyRef; ref != nil {
		sources++
		errs = append(errs, validateKeyRef(ref.Name, ref.Key, path.Child("secretKeyRef"))...)
	}
	if ref := source.FileKeyRef; ref != nil {
		sources++
		errs = append(errs, validateFileKeyRef(ref, volumes, path.Child("fileKeyRef"))...)
	}
	if sources != 1 {
		errs = append(errs, field.Invalid(path, "", "must have exactly one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef and fileKeyRef"))
	}
	return errs
}

func validateKeyRef(name, key string, path *field.Path) field.ErrorList {
	errs := invalid(path.Child("name"), name, validation.IsDNS1123Subdomain(name))
	if key == "" {
		return append(errs, field.Required(path.Child("key"), ""))
	}
	return append(errs, invalid(path.Child("key"), key, validation.IsConfigMapKey(key))...)
}

// validateFieldRef accepts the fields above, and single labels and annotations such as metadata.labels['tier'].
func validateFieldRef(ref *corev1.ObjectFieldSelector, path *field.Path) field.ErrorList {
	if ref.APIVersion != "" && ref.APIVersion != "v1" {
		return field.ErrorList{field.NotSupported(path.Child("apiVersion"), ref.APIVersion, []string{"v1"})}
	}
	if slices.Contains(podFields, ref.FieldPath) {
		return nil
	}
	parent, rest, subscripted := strings.Cut(ref.FieldPath, "['")
	key, closed := strings.CutSuffix(rest, "']")
	if subscripted && closed && parent == "metadata.annotations" {
		key = strings.ToLower(key)
	} else if !subscripted || !closed || parent != "metadata.labels" {
		return field.ErrorList{field.NotSupported(path.Child("fieldPath"), ref.FieldPath, podFields)}
	}
	return invalid(path.Child("fieldPath"), ref.FieldPath, validation.IsQualifiedName(key))
}

func validateResourceFieldRef(ref *corev1.ResourceFieldSelector, path *field.Path) field.ErrorList {
	of, resource, _ := strings.Cut(ref.Resource, ".")
	hugePages := strings.HasPrefix(resource, corev1.ResourceHugePagesPrefix) && (of == "limits" || of == "requests")
	if !hugePages && !slices.Contains(containerResources, ref.Resource) {
		return field.ErrorList{field.NotSupported(path.Child("resource"), ref.Resource, containerResources)}
	}
	if ref.Divisor.IsZero() {
		return nil
	}
	allowed := []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	if resource == string(corev1.ResourceCPU) {
		allowed = []string{"1m", "1"}
	}
	return oneOf(path.Child("divisor"), ref.Divisor.String(), allowed...)
}

func validateFileKeyRef(ref *corev1.FileKeySelector, volumes []workloadv1.Volume, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if ref.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), ""))
	} else {
		errs = append(errs, invalid(path.Child("key"), ref.Key, validation.IsRelaxedEnvVarName(ref.Key))...)
	}
	errs = append(errs, validateRelativePath(ref.Path, path.Child("path"))...)
	for _, volume := range volumes {
		if volume.Name == ref.VolumeName && volume.EmptyDir != nil {
			return errs
		}
	}
	return append(errs, field.Invalid(path.Child("volumeName"), ref.VolumeName, "must name an emptyDir of spec.volumes"))
}

func validateEnvFrom(sources []corev1.EnvFromSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, source := range sources {
		at := path.Index(i)
		if source.Prefix != "" {
			errs = append(errs, invalid(at.Child("prefix"), source.Prefix, validation.IsRelaxedEnvVarName(source.Prefix))...)
		}
		if ref := source.ConfigMapRef; ref != nil {
			errs = append(errs, invalid(at.Child("configMapRef", "name"), ref.Name, validation.IsDNS1123Subdomain(ref.Name))...)
		}
		if ref := source.SecretRef; ref != nil {
			errs = append(errs, invalid(at.Child("secretRef", "name"), ref.Name, validation.IsDNS1123Subdomain(ref.Name))...)
		}
		if (source.ConfigMapRef == nil) == (source.SecretRef == nil) {
			errs = append(errs, field.Invalid(at, "", "must have exactly one of configMapRef and secretRef"))
		}
	}
	return errs
}
