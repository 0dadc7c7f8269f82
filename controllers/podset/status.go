package podset

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/degraded"
	"github.com/example/workload-operator/controllers/podhealth"
)

// statusOf computes the status from what was observed and from the refusal that apply met, if any. The former status gives
// only the times of transitions.
func statusOf(o *observation, refused *refusal) batchv1.PodSetStatus {
	status := batchv1.PodSetStatus{
		ObservedGeneration:  o.podSet.Generation,
		Replicas:            int32(len(o.active)),
		AvailableReplicas:   int32(o.available()),
		UpdatedReplicas:     int32(len(o.active) - len(o.outdated())),
		TerminatingReplicas: int32(len(o.terminating)),
		Selector:            labels.Set(selectorOf(o.podSet)).String(),
		CurrentRevision:     o.revision.String(),
	}
	for _, pod := range o.active {
		if ready(pod) {
			status.ReadyReplicas++
		}
		if len(status.PodNames) < batchv1.MaxPodNames {
			status.PodNames = append(status.PodNames, pod.Name)
		}
	}
	for _, pod := range o.finished {
		if pod.Status.Phase == corev1.PodFailed {
			status.FailedReplicas++
		}
	}
	status.PodNamesOmitted = int32(len(o.active) - len(status.PodNames))
	status.Conditions = conditionsOf(o, refused)
	return status
}

// conditionsOf keeps the time of the last transition of each condition that goes on.
func conditionsOf(o *observation, refused *refusal) []metav1.Condition {
	wanted := []metav1.Condition{readyCondition(o, refused)}
	wanted = append(wanted, progressConditions(refused, wanted[0])...)
	if refused != nil {
		wanted = append(wanted, metav1.Condition{
			Type: workloadv1.ConditionReplicaFailure, Status: metav1.ConditionTrue, Reason: refused.reason, Message: refused.message,
		})
	}
	if c := degraded.Condition(batchv1.GroupVersion.WithKind(kindPodSet), o.podSet.Annotations, o.podSet.Spec); c != nil {
		wanted = append(wanted, *c)
	}
	var conditions []metav1.Condition
	for _, c := range wanted {
		c.ObservedGeneration = o.podSet.Generation
		c.LastTransitionTime = metav1.NewTime(o.now)
		former := meta.FindStatusCondition(o.podSet.Status.Conditions, c.Type)
		if former != nil && former.Status == c.Status {
			c.LastTransitionTime = former.LastTransitionTime
		}
		conditions = append(conditions, c)
	}
	return conditions
}

// readyCondition is True when every wanted Pod is available and has the template it should have. Else it names the first
// thing in the way: a refusal, a suspension that is not done, missing Pods, surplus Pods, Pods of an older template.
func readyCondition(o *observation, refused *refusal) metav1.Condition {
	switch {
	case refused != nil && refused.invalid:
		return unready(workloadv1.ReasonInvalidSpec, refused.message)
	case refused != nil:
		return unready(workloadv1.ReasonReplicaFailure, refused.message)
	case o.podSet.Spec.Suspend:
		return suspendedCondition(o)
	case o.available() < o.desired():
		return missingCondition(o)
	case len(o.active) != o.desired():
		return unready(workloadv1.ReasonProgressing, fmt.Sprintf("%d Pods run and %d are wanted.", len(o.active), o.desired()))
	case o.toUpdate() > 0 && o.podSet.Spec.Paused:
		return unready(batchv1.ReasonPaused, fmt.Sprintf("The update is paused; %d Pods do not have the current template.", o.toUpdate()))
	case o.toUpdate() > 0:
		return unready(workloadv1.ReasonProgressing, fmt.Sprintf("%d Pods still get the current template.", o.toUpdate()))
	}
	return allReady(workloadv1.ReasonReady, fmt.Sprintf("All %d Pods are available.", o.desired()))
}

func suspendedCondition(o *observation) metav1.Condition {
	if left := len(o.active) + len(o.terminating); left > 0 {
		return unready(workloadv1.ReasonProgressing, fmt.Sprintf("%d Pods still have to stop.", left))
	}
	return allReady(workloadv1.ReasonSuspended, "The PodSet is suspended and runs no Pods.")
}

// missingCondition says why fewer Pods are available than wanted: in the words of the worst one, if any is ill.
func missingCondition(o *observation) metav1.Condition {
	if problem, ill := podhealth.Worst(o.active); ill {
		return unready(problem.Reason, problem.Message)
	}
	if o.failures.backingOff() {
		return unready(batchv1.ReasonFailingPods, "New Pods keep failing; the next one is created after a delay that grows with each failure.")
	}
	return unready(workloadv1.ReasonProgressing, fmt.Sprintf("%d of %d Pods are available.", o.available(), o.desired()))
}

func allReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: workloadv1.ConditionReady, Status: metav1.ConditionTrue, Reason: reason, Message: message}
}

func unready(reason, message string) metav1.Condition {
	return metav1.Condition{Type: workloadv1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: message}
}

// toUpdate is how many Pods the update still has to reach.
func (o *observation) toUpdate() int {
	if o.updateType() == batchv1.OnDeleteStrategy {
		return 0
	}
	return max(len(o.outdated())-o.partition(), 0)
}

// progressConditions tell kstatus which way it goes: at most one of Stalled and Reconciling, and none of them while nothing
// is left to do. Neither is there while an update is paused, because then nobody works on it.
func progressConditions(refused *refusal, ready metav1.Condition) []metav1.Condition {
	c := metav1.Condition{Type: workloadv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: ready.Reason, Message: ready.Message}
	switch {
	case ready.Status == metav1.ConditionTrue || ready.Reason == batchv1.ReasonPaused:
		return nil
	case refused != nil && refused.invalid:
		c.Type = workloadv1.ConditionStalled
	}
	return []metav1.Condition{c}
}
