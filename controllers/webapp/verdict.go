package webapp

import (
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/podhealth"
)

// verdict is the state of a WebApp in a few words. Exactly one of three holds: ready, stalled, or neither, which means
// that the operator or the cluster is still working.
type verdict struct {
	phase   appv1.Phase
	ready   bool
	reason  string
	message string

	// stalled is the reason of the condition Stalled; empty means that it is not.
	stalled string

	// idle is true when nothing moves although the WebApp is neither ready nor stalled, because the user paused it.
	idle bool

	// wake is how long until the verdict changes although nothing else does; zero means never.
	wake time.Duration
}

// facts are what the judges decide on.
type facts struct {
	webapp     *appv1.WebApp
	deployment *appsv1.Deployment
	scalers    []string
	overshoots []string
	worst      podhealth.Problem
	problems   []problem
	now        time.Time
}

// judges are asked in this order; the first that has an opinion decides.
var judges = []func(*facts) *verdict{
	judgeProblems, judgeAbsence, judgeSuspension, judgeReplicaFailure, judgeCompletion, judgePause, judgeTimeout, judgeAvailability,
}

func verdictOf(f *facts) verdict {
	for _, judge := range judges {
		if v := judge(f); v != nil {
			return *v
		}
	}
	return f.pending(appv1.PhasePending, workloadv1.ReasonProgressing)
}

// judgeProblems: a child is not as the spec asks. Those that only the user can solve come first.
func judgeProblems(f *facts) *verdict {
	for _, p := range f.problems {
		if p.reason == workloadv1.ReasonNotOwned || p.reason == workloadv1.ReasonInvalidSpec {
			return &verdict{phase: appv1.PhaseFailed, reason: p.reason, message: messageOf(f.problems, p.reason), stalled: p.reason}
		}
	}
	for _, p := range f.problems {
		return &verdict{phase: appv1.PhasePending, reason: p.reason, message: messageOf(f.problems, p.reason)}
	}
	return nil
}

// judgeAbsence: the Deployment, or its controller's word on the present spec, is still to come.
func judgeAbsence(f *facts) *verdict {
	if f.deployment != nil && f.deployment.DeletionTimestamp == nil && current(f.deployment) {
		return nil
	}
	return &verdict{phase: appv1.PhasePending, reason: appv1.ReasonDeploymentPending,
		message: "The Deployment controller has not taken up the current generation yet."}
}

func judgeSuspension(f *facts) *verdict {
	if !f.webapp.Spec.Suspend {
		return nil
	}
	if left := f.deployment.Status.Replicas; left > 0 {
		return &verdict{phase: appv1.PhasePending, reason: workloadv1.ReasonProgressing,
			message: fmt.Sprintf("Suspending: %d Pods are left.", left)}
	}
	return &verdict{phase: appv1.PhaseRunning, ready: true, reason: workloadv1.ReasonSuspended,
		message: "Suspended: no Pods run, as spec.suspend asks."}
}

func judgeReplicaFailure(f *facts) *verdict {
	message := replicaFailure(f.deployment)
	if message == "" {
		return nil
	}
	return &verdict{phase: appv1.PhaseFailed, reason: workloadv1.ReasonReplicaFailure,
		message: join(f.available(), message), stalled: workloadv1.ReasonReplicaFailure}
}

func judgeCompletion(f *facts) *verdict {
	if !complete(f.deployment) {
		return nil
	}
	return &verdict{phase: appv1.PhaseRunning, ready: true, reason: workloadv1.ReasonReady,
		message: join(f.available(), f.scaledBy())}
}

// judgePause: a change is held back, and the Pods of the former template serve on.
func judgePause(f *facts) *verdict {
	if !heldBack(f.deployment) {
		return nil
	}
	v := f.pending(appv1.PhasePending, appv1.ReasonPaused)
	v.message = join("Paused: the change is not rolled out while spec.paused is true.", v.message)
	v.reason, v.idle = appv1.ReasonPaused, true
	if f.deployment.Status.AvailableReplicas >= orDefault(f.deployment.Spec.Replicas, defaultReplicas) {
		v.phase = appv1.PhaseRunning
	}
	return &v
}

func judgeTimeout(f *facts) *verdict {
	if !timedOut(f.deployment) {
		return nil
	}
	v := f.pending(appv1.PhaseFailed, appv1.ReasonProgressDeadlineExceeded)
	v.message = join(v.message, "The rollout made no progress for "+f.deadline().String()+".")
	v.stalled = appv1.ReasonProgressDeadlineExceeded
	return &v
}

// judgeAvailability: the rollout finished and Pods are missing now. The Deployment has no deadline for that, so the WebApp
// has its own, from when it ceased to be ready.
func judgeAvailability(f *facts) *verdict {
	finished := finishedAt(f.deployment)
	missing := f.deployment.Status.AvailableReplicas < orDefault(f.deployment.Spec.Replicas, defaultReplicas)
	if finished.IsZero() || !missing {
		return nil
	}
	v := f.pending(appv1.PhasePending, appv1.ReasonUnavailable)
	start := f.now
	if ready := meta.FindStatusCondition(f.webapp.Status.Conditions, workloadv1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		start = ready.LastTransitionTime.Time
	}
	if finished.After(start) {
		start = finished
	}
	if v.wake = start.Add(f.deadline()).Sub(f.now); v.wake > 0 {
		return &v
	}
	v.wake = 0
	v.phase, v.stalled = appv1.PhaseFailed, appv1.ReasonUnavailable
	v.message = join(v.message, "This has lasted for "+f.deadline().String()+".")
	return &v
}

// pending is a verdict that names the worst Pod, or else the reason given.
func (f *facts) pending(phase appv1.Phase, reason string) verdict {
	if f.worst.Reason != "" {
		reason = f.worst.Reason
	}
	return verdict{phase: phase, reason: reason, message: join(f.available(), f.worst.Message, f.scaledBy())}
}

func (f *facts) available() string {
	return fmt.Sprintf("%d of %d Pods are available.", f.deployment.Status.AvailableReplicas, orDefault(f.deployment.Spec.Replicas, defaultReplicas))
}

// scaledBy says what is to be known about the autoscalers of somebody else.
func (f *facts) scaledBy() string {
	if len(f.scalers) == 0 {
		return join(f.overshoots...)
	}
	return fmt.Sprintf("spec.replicas is not used while the HorizontalPodAutoscaler %s scales the Deployment.", strings.Join(f.scalers, ", "))
}

func (f *facts) deadline() time.Duration {
	return time.Duration(orDefault(f.webapp.Spec.ProgressDeadlineSeconds, defaultProgressDeadlineSeconds)) * time.Second
}

// messageOf joins the messages of the problems that have the reason.
func messageOf(problems []problem, reason string) string {
	var sentences []string
	for _, p := range problems {
		if p.reason == reason {
			sentences = append(sentences, p.message)
		}
	}
	return join(sentences...)
}

// join puts sentences that are not empty behind each other.
func join(sentences ...string) string {
	var out []string
	for _, s := range sentences {
		if s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}
