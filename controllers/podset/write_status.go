package podset

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/controllers/objectmetrics"
	"github.com/example/workload-operator/controllers/statuspatch"
)

// countsInterval is how long counts may wait after the last write of a status, so that a PodSet whose Pods come up one by one is
// not written once for each of them.
const countsInterval = time.Second

// writeStatus sends the status if it differs from what the PodSet says; at once if it says something new, and not more often than
// every countsInterval if only counts moved.
func (r *Reconciler) writeStatus(ctx context.Context, o *observation, known *record) error {
	known.statusDue = time.Time{}
	status := statusOf(o, known.refusal)
	r.states.Set(client.ObjectKeyFromObject(o.podSet), objectmetrics.State{Conditions: status.Conditions, BackingOff: o.failures.backingOff()})
	if equality.Semantic.DeepEqual(o.podSet.Status, status) {
		return nil
	}
	if due := known.own.since.Add(countsInterval); due.After(o.now) && onlyCountsMoved(&o.podSet.Status, &status) {
		known.statusDue = due
		return nil
	}
	changed := o.podSet.DeepCopy()
	changed.Status = status
	patch, err := statuspatch.Between(o.podSet, changed)
	if err != nil {
		return err
	}
	if err := r.client.Status().Patch(ctx, changed, patch, fieldOwner); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	known.own.wrote(changed, o.now)
	return nil
}

// onlyCountsMoved: both tell the same story, of the same spec, with other numbers in it.
func onlyCountsMoved(before, after *batchv1.PodSetStatus) bool {
	return before.ObservedGeneration == after.ObservedGeneration &&
		before.CurrentRevision == after.CurrentRevision &&
		before.Selector == after.Selector &&
		slices.EqualFunc(before.Conditions, after.Conditions, func(a, b metav1.Condition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
		})
}
