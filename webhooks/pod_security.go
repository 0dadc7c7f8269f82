package webhooks

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

func validatePodSecurityContext(security *corev1.PodSecurityContext, path *field.Path) field.ErrorList {
	if security == nil {
		return nil
	}
	errs := validateUserID(security.RunAsUser, path.Child("runAsUser"))
	errs = append(errs, validateGroupID(security.RunAsGroup, path.Child("runAsGroup"))...)
	errs = append(errs, validateGroupID(security.FSGroup, path.Child("fsGroup"))...)
	for i := range security.SupplementalGroups {
		errs = append(errs, validateGroupID(&security.SupplementalGroups[i], path.Child("supplementalGroups").Index(i))...)
	}
	errs = append(errs, oneOfPointer(path.Child("fsGroupChangePolicy"), security.FSGroupChangePolicy,
		corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	errs = append(errs, oneOfPointer(path.Child("supplementalGroupsPolicy"), security.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	errs = append(errs, oneOfPointer(path.Child("seLinuxChangePolicy"), security.SELinuxChangePolicy,
		corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	errs = append(errs, validateSysctls(security.Sysctls, path.Child("sysctls"))...)
	errs = append(errs, validateSeccomp(security.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, validateAppArmor(security.AppArmorProfile, path.Child("appArmorProfile"))...)
	return append(errs, validateWindowsOptions(security.WindowsOptions, path.Child("windowsOptions"))...)
}

func validateSecurityContext(security *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if security == nil {
		return nil
	}
	errs := validateUserID(security.RunAsUser, path.Child("runAsUser"))
	errs = append(errs, validateGroupID(security.RunAsGroup, path.Child("runAsGroup"))...)
	if ptr.Deref(security.ProcMount, corev1.DefaultProcMount) != corev1.DefaultProcMount {
		// Unmasked needs a user namespace (hostUsers: false), which our Pods do not have.
		errs = append(errs, field.NotSupported(path.Child("procMount"), *security.ProcMount, []corev1.ProcMountType{corev1.DefaultProcMount}))
	}
	errs = append(errs, validateEscalation(security, path)...)
	errs = append(errs, validateSeccomp(security.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, validateAppArmor(security.AppArmorProfile, path.Child("appArmorProfile"))...)
	return append(errs, validateWindowsOptions(security.WindowsOptions, path.Child("windowsOptions"))...)
}

// validateEscalation refuses privileges together with their opposite. Escalation that is unset counts as denied only in a
// container that has no privileges.
func validateEscalation(security *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if ptr.Deref(security.AllowPrivilegeEscalation, true) {
		return nil
	}
	if ptr.Deref(security.Privileged, false) {
		return field.ErrorList{field.Invalid(path.Child("allowPrivilegeEscalation"), false, "must not be false together with privileged")}
	}
	if security.Capabilities != nil {
		for i, capability := range security.Capabilities.Add {
			if capability == "CAP_SYS_ADMIN" {
				at := path.Child("capabilities", "add").Index(i)
				return field.ErrorList{field.Invalid(at, capability, "must not be added while allowPrivilegeEscalation is false")}
			}
		}
	}
	return nil
}

func validateUserID(id *int64, path *field.Path) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, validation.IsValidUserID(*id))
}

func validateGroupID(id *int64, path *field.Path) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, validation.IsValidGroupID(*id))
}

var sysctlName = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func validateSysctls(sysctls []corev1.Sysctl, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, sysctl := range sysctls {
		at := path.Index(i).Child("name")
		if len(sysctl.Name) > 253 || !sysctlName.MatchString(sysctl.Name) {
			errs = append(errs, field.Invalid(at, sysctl.Name, "must be the name of a kernel parameter, such as net.core.somaxconn"))
		}
		if seen[sysctl.Name] {
			errs = append(errs, field.Duplicate(at, sysctl.Name))
		}
		seen[sysctl.Name] = true
	}
	return errs
}

func validateSeccomp(profile *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), profile.Type,
		corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	local := profile.Type == corev1.SeccompProfileTypeLocalhost
	errs = append(errs, validateLocalProfile(profile.LocalhostProfile, local, path.Child("localhostProfile"))...)
	if local && profile.LocalhostProfile != nil {
		errs = append(errs, validateRelativePath(*profile.LocalhostProfile, path.Child("localhostProfile"))...)
	}
	return errs
}

func validateAppArmor(profile *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if profile == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), profile.Type,
		corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
	local := profile.Type == corev1.AppArmorProfileTypeLocalhost
	errs = append(errs, validateLocalProfile(profile.LocalhostProfile, local, path.Child("localhostProfile"))...)
	if name := ptr.Deref(profile.LocalhostProfile, "x"); local && (name == "" || name != strings.TrimSpace(name) || len(name) > 4095) {
		errs = append(errs, field.Invalid(path.Child("localhostProfile"), name, "must be a name of at most 4095 characters, without spaces around it"))
	}
	return errs
}

// validateLocalProfile holds that a profile of the node is named if and only if the type asks for one.
func validateLocalProfile(name *string, local bool, path *field.Path) field.ErrorList {
	switch {
	case local && name == nil:
		return field.ErrorList{field.Required(path, "must be set with type Localhost")}
	case !local && name != nil:
		return field.ErrorList{field.Invalid(path, *name, "must only be set with type Localhost")}
	}
	return nil
}

// windowsUser matches a user name, with an optional domain as a DNS or NetBIOS name before it.
var windowsUser = regexp.MustCompile(`^(([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*|[A-Za-z0-9][A-Za-z0-9 _-]{0,14})\\)?[A-Za-z0-9_$ .-]{0,103}[A-Za-z0-9_$-]$`)

func validateWindowsOptions(options *corev1.WindowsSecurityContextOptions, path *field.Path) field.ErrorList {
	if options == nil {
		return nil
	}
	var errs field.ErrorList
	if name := options.GMSACredentialSpecName; name != nil {
		errs = append(errs, invalid(path.Child("gmsaCredentialSpecName"), *name, validation.IsDNS1123Subdomain(*name))...)
	}
	if spec := options.GMSACredentialSpec; spec != nil && (*spec == "" || len(*spec) > 64<<10) {
		errs = append(errs, field.Invalid(path.Child("gmsaCredentialSpec"), "", "must have from 1 to 65536 characters"))
	}
	if user := options.RunAsUserName; user != nil && !windowsUser.MatchString(*user) {
		errs = append(errs, field.Invalid(path.Child("runAsUserName"), *user, `must be a user name, with an optional domain before it: DOMAIN\user`))
	}
	if ptr.Deref(options.HostProcess, false) {
		// A host process needs the network of the host, which our Pods do not have.
		errs = append(errs, field.Forbidden(path.Child("hostProcess"), "is not supported"))
	}
	return errs
}
