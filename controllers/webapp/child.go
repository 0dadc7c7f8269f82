package webapp

import (
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// selectorOf selects the Pods of a WebApp. It holds one label, which no user can set.
func selectorOf(w *appv1.WebApp) map[string]string {
	return map[string]string{appv1.LabelWebApp: w.Name}
}

// labelsOf are the labels of every child.
func labelsOf(w *appv1.WebApp) map[string]string {
	return map[string]string{
		workloadv1.LabelManagedBy: workloadv1.ManagedBy,
		workloadv1.LabelName:      w.Name,
		workloadv1.LabelInstance:  w.Name,
		appv1.LabelWebApp:         w.Name,
	}
}

// ownerOf is the controller reference of every child.
func ownerOf(w *appv1.WebApp) *applymetav1.OwnerReferenceApplyConfiguration {
	return applymetav1.OwnerReference().
		WithAPIVersion(appv1.GroupVersion.String()).
		WithKind(kindWebApp).
		WithName(w.Name).
		WithUID(w.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// orDefault returns what an optional field points to, or the default.
func orDefault[T any](field *T, fallback T) T {
	if field == nil {
		return fallback
	}
	return *field
}
