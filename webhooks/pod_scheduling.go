package webhooks

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// validateScheduling judges everything that says where Pods run.
func validateScheduling(settings *workloadv1.PodSettings, spec *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabels(settings.NodeSelector, spec.Child("nodeSelector"))
	errs = append(errs, validateTolerations(settings.Tolerations, spec.Child("tolerations"))...)
	if affinity := settings.Affinity; affinity != nil {
		at := spec.Child("affinity")
		errs = append(errs, validateNodeAffinity(affinity.NodeAffinity, at.Child("nodeAffinity"))...)
		if pods := affinity.PodAffinity; pods != nil {
			errs = append(errs, validatePodAffinity(pods.RequiredDuringSchedulingIgnoredDuringExecution,
				pods.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity"))...)
		}
		if pods := affinity.PodAntiAffinity; pods != nil {
			errs = append(errs, validatePodAffinity(pods.RequiredDuringSchedulingIgnoredDuringExecution,
				pods.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAntiAffinity"))...)
		}
	}
	return append(errs, validateSpread(settings.TopologySpreadConstraints, spec.Child("topologySpreadConstraints"))...)
}

func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, toleration := range tolerations {
		at := path.Index(i)
		if toleration.Key != "" {
			errs = append(errs, metav1validation.ValidateLabelName(toleration.Key, at.Child("key"))...)
		} else if toleration.Operator != corev1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), toleration.Operator, "must be Exists when key is empty"))
		}
		if toleration.TolerationSeconds != nil && toleration.Effect != corev1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), toleration.Effect, "must be NoExecute when tolerationSeconds is set"))
		}
		errs = append(errs, oneOf(at.Child("effect"), toleration.Effect,
			"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)...)
		errs = append(errs, validateTolerationValue(&toleration, at)...)
	}
	return errs
}

func validateTolerationValue(toleration *corev1.Toleration, path *field.Path) field.ErrorList {
	switch toleration.Operator {
	case "", corev1.TolerationOpEqual:
		return invalid(path.Child("value"), toleration.Value, validation.IsValidLabelValue(toleration.Value))
	case corev1.TolerationOpExists:
		if toleration.Value != "" {
			return field.ErrorList{field.Invalid(path.Child("value"), toleration.Value, "must be empty with operator Exists")}
		}
		return nil
	}
	// Lt and Gt are behind a feature gate of the cluster.
	return oneOf(path.Child("operator"), toleration.Operator, corev1.TolerationOpEqual, corev1.TolerationOpExists)
}

func validateNodeAffinity(affinity *corev1.NodeAffinity, path *field.Path) field.ErrorList {
	if affinity == nil {
		return nil
	}
	var errs field.ErrorList
	if required := affinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		at := path.Child("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
		if len(required.NodeSelectorTerms) == 0 {
			errs = append(errs, field.Required(at, "at least one term"))
		}
		for i, term := range required.NodeSelectorTerms {
			errs = append(errs, validateNodeTerm(&term, at.Index(i))...)
		}
	}
	for i, preferred := range affinity.PreferredDuringSchedulingIgnoredDuringExecution {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(preferred.Weight, at.Child("weight"))...)
		errs = append(errs, validateNodeTerm(&preferred.Preference, at.Child("preference"))...)
	}
	return errs
}

func validateNodeTerm(term *corev1.NodeSelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, expression := range term.MatchExpressions {
		errs = append(errs, validateNodeExpression(&expression, path.Child("matchExpressions").Index(i))...)
	}
	for i, expression := range term.MatchFields {
		at := path.Child("matchFields").Index(i)
		errs = append(errs, oneOf(at.Child("key"), expression.Key, metav1.ObjectNameField)...)
		errs = append(errs, oneOf(at.Child("operator"), expression.Operator, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)...)
		if len(expression.Values) != 1 {
			errs = append(errs, field.Required(at.Child("values"), "exactly one value"))
		}
		for j, value := range expression.Values {
			errs = append(errs, invalid(at.Child("values").Index(j), value, validation.IsDNS1123Subdomain(value))...)
		}
	}
	return errs
}

func validateNodeExpression(expression *corev1.NodeSelectorRequirement, path *field.Path) field.ErrorList {
	errs := metav1validation.ValidateLabelName(expression.Key, path.Child("key"))
	values := path.Child("values")
	switch expression.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		if len(expression.Values) == 0 {
			errs = append(errs, field.Required(values, "at least one value with operator In or NotIn"))
		}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
		if len(expression.Values) > 0 {
			errs = append(errs, field.Forbidden(values, "no values with operator Exists or DoesNotExist"))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		if len(expression.Values) != 1 {
			errs = append(errs, field.Required(values, "exactly one value with operator Gt or Lt"))
		}
		for i, value := range expression.Values {
			if _, err := strconv.ParseInt(value, 10, 64); err != nil {
				errs = append(errs, field.Invalid(values.Index(i), value, "must be a whole number with operator Gt or Lt"))
			}
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("operator"), expression.Operator, []corev1.NodeSelectorOperator{
			corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt,
		}))
	}
	for i, value := range expression.Values {
		errs = append(errs, invalid(values.Index(i), value, validation.IsValidLabelValue(value))...)
	}
	return errs
}

func validatePodAffinity(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, term := range required {
		errs = append(errs, validatePodTerm(&term, path.Child("requiredDuringSchedulingIgnoredDuringExecution").Index(i))...)
	}
	for i, weighted := range preferred {
		at := path.Child("preferredDuringSchedulingIgnoredDuringExecution").Index(i)
		errs = append(errs, validateWeight(weighted.Weight, at.Child("weight"))...)
		errs = append(errs, validatePodTerm(&weighted.PodAffinityTerm, at.Child("podAffinityTerm"))...)
	}
	return errs
}

func validatePodTerm(term *corev1.PodAffinityTerm, path *field.Path) field.ErrorList {
	errs := validateSelector(term.LabelSelector, path.Child("labelSelector"))
	errs = append(errs, validateSelector(term.NamespaceSelector, path.Child("namespaceSelector"))...)
	for i, namespace := range term.Namespaces {
		errs = append(errs, invalid(path.Child("namespaces").Index(i), namespace, validation.IsDNS1123Label(namespace))...)
	}
	errs = append(errs, metav1validation.ValidateLabelName(term.TopologyKey, path.Child("topologyKey"))...)
	errs = append(errs, validateLabelKeys(term.MatchLabelKeys, term.LabelSelector, path.Child("matchLabelKeys"))...)
	if (len(term.MatchLabelKeys) > 0 || len(term.MismatchLabelKeys) > 0) && term.LabelSelector == nil {
		errs = append(errs, field.Forbidden(path.Child("matchLabelKeys"), "needs a labelSelector"))
	}
	for i, key := range term.MismatchLabelKeys {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Child("mismatchLabelKeys").Index(i))...)
		if slices.Contains(term.MatchLabelKeys, key) {
			errs = append(errs, field.Invalid(path.Child("mismatchLabelKeys").Index(i), key, "must not be in matchLabelKeys as well"))
		}
	}
	return errs
}

// validateSpread judges spread constraints. One without a selector is given the selector of this object's Pods. The schema
// holds that topologyKey and whenUnsatisfiable together are unique.
func validateSpread(constraints []corev1.TopologySpreadConstraint, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, constraint := range constraints {
		at := path.Index(i)
		if constraint.MaxSkew <= 0 {
			errs = append(errs, field.Invalid(at.Child("maxSkew"), constraint.MaxSkew, "must be greater than 0"))
		}
		errs = append(errs, metav1validation.ValidateLabelName(constraint.TopologyKey, at.Child("topologyKey"))...)
		errs = append(errs, oneOf(at.Child("whenUnsatisfiable"), constraint.WhenUnsatisfiable, corev1.DoNotSchedule, corev1.ScheduleAnyway)...)
		if domains := constraint.MinDomains; domains != nil && (*domains <= 0 || constraint.WhenUnsatisfiable != corev1.DoNotSchedule) {
			errs = append(errs, field.Invalid(at.Child("minDomains"), *domains, "must be greater than 0, and only set with whenUnsatisfiable DoNotSchedule"))
		}
		errs = append(errs, oneOfPointer(at.Child("nodeAffinityPolicy"), constraint.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		errs = append(errs, oneOfPointer(at.Child("nodeTaintsPolicy"), constraint.NodeTaintsPolicy, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)...)
		errs = append(errs, validateSelector(constraint.LabelSelector, at.Child("labelSelector"))...)
		errs = append(errs, validateLabelKeys(constraint.MatchLabelKeys, constraint.LabelSelector, at.Child("matchLabelKeys"))...)
	}
	return errs
}

// validateLabelKeys refuses keys that the selector names as well: it could match only one value of each.
func validateLabelKeys(keys []string, selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, metav1validation.ValidateLabelName(key, path.Index(i))...)
		if selects(selector, key) {
			errs = append(errs, field.Invalid(path.Index(i), key, "must not be in labelSelector as well"))
		}
	}
	return errs
}

func selects(selector *metav1.LabelSelector, key string) bool {
	if selector == nil {
		return false
	}
	if _, ok := selector.MatchLabels[key]; ok {
		return true
	}
	return slices.ContainsFunc(selector.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool { return r.Key == key })
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func validateWeight(weight int32, path *field.Path) field.ErrorList {
	if weight >= 1 && weight <= 100 {
		return nil
	}
	return invalid(path, weight, []string{fmt.Sprint(validation.InclusiveRangeError(1, 100))})
}
