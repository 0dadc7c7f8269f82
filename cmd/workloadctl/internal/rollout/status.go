package rollout

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// State is how far a rollout is.
type State string

// States.
const (
	// Progressing goes on, or waits for something.
	Progressing State = "Progressing"
	// Done has reached everything that it is to reach by itself.
	Done State = "Done"
	// Failed does not go on without a change by somebody.
	Failed State = "Failed"
)

// Progress is the state of a rollout, and a sentence about it.
func Progress(t *Target) (State, string) {
	ready, stalled := t.condition(workloadv1.ConditionReady), t.condition(workloadv1.ConditionStalled)
	reconciling := t.condition(workloadv1.ConditionReconciling)
	count := fmt.Sprintf("%d of %d replicas are up to date", t.updated, t.replicas)
	switch {
	case t.Object.GetDeletionTimestamp() != nil:
		return Failed, "it is being deleted"
	case t.observed < t.Object.GetGeneration():
		return Progressing, "the operator has not seen the latest change yet"
	case is(stalled):
		return Failed, stalled.Reason + ": " + stalled.Message
	case t.paused && t.updated < t.replicas:
		return Progressing, count + ", and it is paused"
	case is(reconciling):
		return Progressing, count + ": " + reconciling.Message
	case t.behind:
		return Progressing, "its Deployment has a change that not all Pods have yet"
	case !is(ready):
		return Progressing, count + message(ready)
	case t.onDelete && t.updated < t.replicas:
		return Done, count + "; the others follow when they are deleted (OnDelete)"
	case t.updated < t.replicas:
		return Done, count + "; the others are held back by the partition"
	case t.suspended:
		return Done, "it is suspended"
	}
	return Done, count
}

func (t *Target) condition(kind string) *metav1.Condition {
	for i := range t.conditions {
		if t.conditions[i].Type == kind {
			return &t.conditions[i]
		}
	}
	return nil
}

func is(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func message(c *metav1.Condition) string {
	if c == nil {
		return ""
	}
	return ": " + c.Message
}
