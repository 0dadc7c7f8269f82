package podset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// report tells what a pass did, one event per kind of write. Refusals are told once, when they begin or change.
func (r *Reconciler) report(podSet *batchv1.PodSet, out outcome, refused *refusal) {
	for _, told := range []struct {
		n                    int
		reason, action, verb string
	}{
		{out.created, "PodsCreated", "Create", "Created"},
		{out.deleted, "PodsDeleted", "Delete", "Deleted"},
		{out.updated, "PodsUpdated", "Update", "Updated the image of"},
		{out.adopted, "PodsAdopted", "Adopt", "Adopted"},
		{out.released, "PodsReleased", "Release", "Released"},
		{out.relabelled, "PodsRelabelled", "Relabel", "Put back the label managed-by on"},
	} {
		if told.n > 0 {
			r.events.Eventf(podSet, nil, corev1.EventTypeNormal, told.reason, told.action, "%s %s.", told.verb, countOfPods(told.n))
		}
	}
	if refused == nil {
		return
	}
	former := meta.FindStatusCondition(podSet.Status.Conditions, workloadv1.ConditionReplicaFailure)
	if former == nil || former.Message != refused.message {
		r.events.Eventf(podSet, nil, corev1.EventTypeWarning, refused.reason, "Reconcile", "%s", refused.message)
	}
}

func countOfPods(n int) string {
	if n == 1 {
		return "1 Pod"
	}
	return fmt.Sprintf("%d Pods", n)
}
