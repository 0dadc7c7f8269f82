package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateResources judges names and amounts of all resources. CEL holds the amounts of cpu, memory and ephemeral-storage
// as well, so that they are judged while this webhook is down.
func validateResources(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	errs := validateAmounts(resources.Limits, path.Child("limits"))
	errs = append(errs, validateAmounts(resources.Requests, path.Child("requests"))...)
	errs = append(errs, validateRequests(resources, path)...)
	if usesHugePages(resources) && !usesMemoryOrCPU(resources) {
		errs = append(errs, field.Forbidden(path, "huge pages need cpu or memory as well"))
	}
	if len(resources.Claims) > 0 {
		errs = append(errs, field.Forbidden(path.Child("claims"), "resource claims are not supported: their Pods would need spec.resourceClaims"))
	}
	return errs
}

// validateRequests compares requests with limits.
func validateRequests(resources *corev1.ResourceRequirements, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(resources.Requests)) {
		request := resources.Requests[name]
		limit, limited := resources.Limits[name]
		at := path.Child("requests").Key(string(name))
		switch {
		case !limited && !overcommits(name):
			errs = append(errs, field.Required(path.Child("limits").Key(string(name)), "a limit equal to the request must be set for this resource"))
		case limited && !overcommits(name) && request.Cmp(limit) != 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must be equal to its limit of %s", limit.String())))
		case limited && request.Cmp(limit) > 0:
			errs = append(errs, field.Invalid(at, request.String(), fmt.Sprintf("must not be above its limit of %s", limit.String())))
		}
	}
	return errs
}

func validateAmounts(amounts corev1.ResourceList, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		amount, at := amounts[name], path.Key(string(name))
		if message := unusableName(name); message != "" {
			errs = append(errs, field.Invalid(at, name, message))
			continue
		}
		if amount.Sign() < 0 {
			errs = append(errs, field.Invalid(at, amount.String(), "must not be negative"))
		}
		if extended(name) && !wholeNumber(amount) {
			errs = append(errs, field.Invalid(at, amount.String(), "must be a whole number"))
		}
		if page, ok := pageSize(name); ok && (page.Value() <= 0 || amount.Value()%page.Value() != 0) {
			errs = append(errs, field.Invalid(at, amount.String(), "must be a multiple of the page size in the name"))
		}
	}
	return errs
}

// unusableName says why a container cannot ask for a resource of this name, or nothing.
func unusableName(name corev1.ResourceName) string {
	if messages := validation.IsQualifiedName(string(name)); len(messages) > 0 {
		return messages[0]
	}
	switch {
	case name == corev1.ResourceCPU, name == corev1.ResourceMemory, name == corev1.ResourceEphemeralStorage:
		return ""
	case !strings.Contains(string(name), "/"):
		if _, ok := pageSize(name); ok {
			return ""
		}
		return "must be cpu, memory, ephemeral-storage, hugepages-<size>, or a name with a domain such as example.com/gpu"
	case overcommits(name):
		return ""
	case strings.HasPrefix(string(name), corev1.DefaultResourceRequestsPrefix):
		return "must not start with requests."
	case len(validation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+string(name))) > 0:
		return "must still be a qualified name with the prefix requests."
	}
	return ""
}

// overcommits is true for the resources of Kubernetes itself, of which a request may be lower than its limit.
func overcommits(name corev1.ResourceName) bool {
	native := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// extended is true for the resources of others, such as example.com/gpu.
func extended(name corev1.ResourceName) bool {
	return strings.Contains(string(name), "/") && !strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

// pageSize returns the size in the name of a huge pages resource.
func pageSize(name corev1.ResourceName) (resource.Quantity, bool) {
	text, ok := strings.CutPrefix(string(name), corev1.ResourceHugePagesPrefix)
	if !ok {
		return resource.Quantity{}, false
	}
	size, err := resource.ParseQuantity(text)
	return size, err == nil
}

func wholeNumber(amount resource.Quantity) bool {
	return amount.MilliValue()%1000 == 0
}

func usesHugePages(resources *corev1.ResourceRequirements) bool {
	return names(resources, func(name corev1.ResourceName) bool {
		return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
	})
}

func usesMemoryOrCPU(resources *corev1.ResourceRequirements) bool {
	return names(resources, func(name corev1.ResourceName) bool {
		return name == corev1.ResourceCPU || name == corev1.ResourceMemory
	})
}

// names is true if resources name one that matches.
func names(resources *corev1.ResourceRequirements, matches func(corev1.ResourceName) bool) bool {
	for _, list := range []corev1.ResourceList{resources.Limits, resources.Requests} {
		for name := range list {
			if matches(name) {
				return true
			}
		}
	}
	return false
}
