package webapp

import (
	policyv1 "k8s.io/api/policy/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	applypolicyv1 "k8s.io/client-go/applyconfigurations/policy/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// budgetFor returns the PodDisruptionBudget of a WebApp, or nil if it asks for none or has a single replica, whose node
// could never be drained. Pods that are not ready may always be evicted.
func budgetFor(w *appv1.WebApp) *applypolicyv1.PodDisruptionBudgetApplyConfiguration {
	if w.Spec.DisruptionBudget == nil || orDefault(w.Spec.Replicas, defaultReplicas) <= 1 {
		return nil
	}
	return applypolicyv1.PodDisruptionBudget(w.Name+appv1.PodDisruptionBudgetSuffix, w.Namespace).
		WithLabels(labelsOf(w)).
		WithOwnerReferences(ownerOf(w)).
		WithSpec(applypolicyv1.PodDisruptionBudgetSpec().
			WithSelector(applymetav1.LabelSelector().WithMatchLabels(selectorOf(w))).
			WithMaxUnavailable(w.Spec.DisruptionBudget.MaxUnavailable).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow))
}
