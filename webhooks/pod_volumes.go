package webhooks

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// validateVolumes judges the sources. The schema holds that each volume has exactly one, and what its name is.
func validateVolumes(volumes []workloadv1.Volume, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, volume := range volumes {
		errs = append(errs, validateVolume(&volume, at.Index(i))...)
	}
	return errs
}

func validateVolume(volume *workloadv1.Volume, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if source := volume.ConfigMap; source != nil {
		errs = append(errs, required(at.Child("configMap", "name"), source.Name)...)
		errs = append(errs, validateFiles(source.Items, source.DefaultMode, source.DefaultUser, at.Child("configMap"))...)
	}
	if source := volume.Secret; source != nil {
		errs = append(errs, required(at.Child("secret", "secretName"), source.SecretName)...)
		errs = append(errs, validateFiles(source.Items, source.DefaultMode, source.DefaultUser, at.Child("secret"))...)
	}
	if source := volume.EmptyDir; source != nil {
		if source.SizeLimit != nil && source.SizeLimit.Sign() < 0 {
			errs = append(errs, field.Invalid(at.Child("emptyDir", "sizeLimit"), source.SizeLimit.String(), "must not be negative"))
		}
		errs = append(errs, validateMode(source.Mode, 0o1777, at.Child("emptyDir", "mode"))...)
	}
	if source := volume.PersistentVolumeClaim; source != nil {
		errs = append(errs, required(at.Child("persistentVolumeClaim", "claimName"), source.ClaimName)...)
	}
	return errs
}

// validateFiles judges the keys that a volume shows as files.
func validateFiles(items []corev1.KeyToPath, mode *int32, user *int64, at *field.Path) field.ErrorList {
	errs := validateMode(mode, 0o777, at.Child("defaultMode"))
	errs = append(errs, validateUserID(user, at.Child("defaultUser"))...)
	for i, item := range items {
		file := at.Child("items").Index(i)
		errs = append(errs, required(file.Child("key"), item.Key)...)
		errs = append(errs, validateRelativePath(item.Path, file.Child("path"))...)
		if strings.HasPrefix(item.Path, "..") && !hasBackstep(item.Path) {
			errs = append(errs, field.Invalid(file.Child("path"), item.Path, "must not start with '..'"))
		}
		errs = append(errs, validateMode(item.Mode, 0o777, file.Child("mode"))...)
		errs = append(errs, validateUserID(item.User, file.Child("user"))...)
	}
	return errs
}

func validateMode(mode *int32, highest int32, at *field.Path) field.ErrorList {
	if mode == nil || (*mode >= 0 && *mode <= highest) {
		return nil
	}
	return invalid(at, *mode, []string{validation.InclusiveRangeError(0, int(highest)) + " (permission bits, in decimal)"})
}

// validateVolumeMounts judges how volumes are mounted. CEL holds that each mount names a volume.
func validateVolumeMounts(settings *workloadv1.PodSettings, at *field.Path) field.ErrorList {
	security := ptr.Deref(settings.SecurityContext, corev1.SecurityContext{})
	var errs field.ErrorList
	for i, mount := range settings.VolumeMounts {
		errs = append(errs, required(at.Index(i).Child("mountPath"), mount.MountPath)...)
		errs = append(errs, validateSubPath(&mount, at.Index(i))...)
		errs = append(errs, validatePropagation(&mount, &security, at.Index(i))...)
		errs = append(errs, validateMountOptions(mount.BindMountOptions, at.Index(i).Child("bindMountOptions"))...)
	}
	return errs
}

func validateSubPath(mount *corev1.VolumeMount, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if mount.SubPath != "" {
		errs = append(errs, validateRelativePath(mount.SubPath, at.Child("subPath"))...)
	}
	if mount.SubPathExpr != "" {
		errs = append(errs, validateRelativePath(mount.SubPathExpr, at.Child("subPathExpr"))...)
	}
	if mount.SubPath != "" && mount.SubPathExpr != "" {
		errs = append(errs, field.Invalid(at.Child("subPathExpr"), mount.SubPathExpr, "must not be set together with subPath"))
	}
	return errs
}

func validatePropagation(mount *corev1.VolumeMount, security *corev1.SecurityContext, at *field.Path) field.ErrorList {
	errs := oneOfPointer(at.Child("mountPropagation"), mount.MountPropagation,
		corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
	propagation := ptr.Deref(mount.MountPropagation, corev1.MountPropagationNone)
	if propagation == corev1.MountPropagationBidirectional && !ptr.Deref(security.Privileged, false) {
		errs = append(errs, field.Forbidden(at.Child("mountPropagation"), "Bidirectional needs securityContext.privileged"))
	}
	recursive := ptr.Deref(mount.RecursiveReadOnly, corev1.RecursiveReadOnlyDisabled)
	errs = append(errs, oneOf(at.Child("recursiveReadOnly"), recursive,
		corev1.RecursiveReadOnlyDisabled, corev1.RecursiveReadOnlyIfPossible, corev1.RecursiveReadOnlyEnabled)...)
	if recursive != corev1.RecursiveReadOnlyDisabled && (!mount.ReadOnly || propagation != corev1.MountPropagationNone) {
		errs = append(errs, field.Forbidden(at.Child("recursiveReadOnly"), "needs readOnly, and no mountPropagation"))
	}
	return errs
}

func validateMountOptions(options []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, option := range options {
		errs = append(errs, oneOf(at.Index(i), option, "noexec", "nodev", "nosuid")...)
		if slices.Contains(options[:i], option) {
			errs = append(errs, field.Duplicate(at.Index(i), option))
		}
	}
	return errs
}

func validateRelativePath(value string, at *field.Path) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(at, "")}
	case path.IsAbs(value):
		return field.ErrorList{field.Invalid(at, value, "must be a relative path")}
	case hasBackstep(value):
		return field.ErrorList{field.Invalid(at, value, "must not contain '..'")}
	}
	return nil
}

func hasBackstep(value string) bool {
	return slices.Contains(strings.Split(value, "/"), "..")
}

func required(at *field.Path, value string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	return nil
}
