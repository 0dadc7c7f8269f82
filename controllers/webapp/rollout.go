package webapp

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// Reasons that the Deployment controller sets on the condition Progressing.
const (
	rolloutFinished = "NewReplicaSetAvailable"
	rolloutTimedOut = "ProgressDeadlineExceeded"
)

// current says whether the status of the Deployment speaks of its present spec.
func current(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation
}

// complete says whether every Pod is of the present template and available, and no other is left.
func complete(d *appsv1.Deployment) bool {
	want := orDefault(d.Spec.Replicas, defaultReplicas)
	return current(d) && d.Status.UpdatedReplicas == want && d.Status.Replicas == want && d.Status.AvailableReplicas == want
}

// heldBack says whether the Deployment is paused with a template that its Pods do not have.
func heldBack(d *appsv1.Deployment) bool {
	return d.Spec.Paused && d.Status.UpdatedReplicas < orDefault(d.Spec.Replicas, defaultReplicas)
}

// finishedAt is when the last rollout of the Deployment finished; zero while one is under way.
func finishedAt(d *appsv1.Deployment) time.Time {
	c := conditionOf(d, appsv1.DeploymentProgressing)
	if c == nil || c.Reason != rolloutFinished || !current(d) {
		return time.Time{}
	}
	return c.LastUpdateTime.Time
}

func timedOut(d *appsv1.Deployment) bool {
	c := conditionOf(d, appsv1.DeploymentProgressing)
	return c != nil && c.Reason == rolloutTimedOut && current(d)
}

// replicaFailure says why the Deployment cannot create Pods, without the generated name of a Pod; empty means that it can.
func replicaFailure(d *appsv1.Deployment) string {
	c := conditionOf(d, appsv1.DeploymentReplicaFailure)
	if c == nil || c.Status != corev1.ConditionTrue {
		return ""
	}
	message := generatedName.ReplaceAllString(c.Message, "Pods are forbidden")
	return fmt.Sprintf("Pods cannot be created: %s.", strings.TrimSuffix(message, "."))
}

// terminating says whether the namespace is being terminated, as far as the Deployment has found out. The text is that of
// the API server's NamespaceLifecycle admission; nothing else in the Deployment tells.
func (o *observed) terminating() bool {
	if o.deployment == nil {
		return false
	}
	c := conditionOf(o.deployment, appsv1.DeploymentReplicaFailure)
	return c != nil && strings.HasSuffix(c.Message, "because it is being terminated")
}

// generatedName is how a refusal of the API server begins.
var generatedName = regexp.MustCompile(`pods "[^"]*" is forbidden`)

func conditionOf(d *appsv1.Deployment, kind appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}
