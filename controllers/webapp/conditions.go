package webapp

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/degraded"
)

// conditionsOf spells a verdict out. Ready, Available and Progressing are always there; Reconciling and Stalled only
// while true, so that they never contradict Ready.
func conditionsOf(f *facts, v verdict) []metav1.Condition {
	ready := metav1.ConditionFalse
	if v.ready {
		ready = metav1.ConditionTrue
	}
	conditions := []metav1.Condition{
		{Type: workloadv1.ConditionReady, Status: ready, Reason: v.reason, Message: v.message},
		availableOf(f),
		progressingOf(f),
	}
	switch {
	case v.stalled != "":
		conditions = append(conditions, metav1.Condition{
			Type: workloadv1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v.stalled, Message: v.message})
	case !v.ready && !v.idle:
		conditions = append(conditions, metav1.Condition{
			Type: workloadv1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v.reason, Message: v.message})
	}
	if c := degraded.Condition(appv1.GroupVersion.WithKind(kindWebApp), f.webapp.Annotations, f.webapp.Spec); c != nil {
		conditions = append(conditions, *c)
	}
	return dated(f.webapp, conditions, f.now)
}

// dated gives each condition its generation, and the time since when it has its status.
func dated(w *appv1.WebApp, conditions []metav1.Condition, now time.Time) []metav1.Condition {
	for i := range conditions {
		c := &conditions[i]
		c.ObservedGeneration = w.Generation
		c.LastTransitionTime = metav1.NewTime(now)
		if former := meta.FindStatusCondition(w.Status.Conditions, c.Type); former != nil && former.Status == c.Status {
			c.LastTransitionTime = former.LastTransitionTime
		}
	}
	return conditions
}

func availableOf(f *facts) metav1.Condition {
	c := metav1.Condition{Type: workloadv1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: appv1.ReasonDeploymentPending,
		Message: "The Deployment has not reported yet."}
	if f.deployment == nil {
		return c
	}
	if f.webapp.Spec.Suspend {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, workloadv1.ReasonSuspended, "No Pods run while spec.suspend is true."
		return c
	}
	if d := conditionOf(f.deployment, appsv1.DeploymentAvailable); d != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionStatus(d.Status), d.Reason, "Too few Pods are available."
		if c.Status == metav1.ConditionTrue {
			c.Message = "Enough Pods are available."
		}
	}
	return c
}

// progressSentences replace the messages of the Deployment, which name ReplicaSets. Other reasons are passing steps of a
// rollout.
var progressSentences = map[string]string{
	rolloutFinished:    "The last rollout has finished.",
	rolloutTimedOut:    "The rollout exceeded its progress deadline.",
	"DeploymentPaused": "Rollouts are paused.",
}

func progressingOf(f *facts) metav1.Condition {
	c := metav1.Condition{Type: workloadv1.ConditionProgressing, Status: metav1.ConditionUnknown, Reason: appv1.ReasonDeploymentPending,
		Message: "The Deployment has not reported yet."}
	if f.deployment == nil || !current(f.deployment) {
		return c
	}
	if d := conditionOf(f.deployment, appsv1.DeploymentProgressing); d != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionStatus(d.Status), d.Reason, "A rollout is under way."
		if sentence, known := progressSentences[d.Reason]; known {
			c.Message = sentence
		}
	}
	return c
}
