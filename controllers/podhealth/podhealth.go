package podhealth

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// Reasons of a Problem, from worst to mildest. The first two need a change by somebody; the others may pass.
const (
	// ReasonConfigError: a container cannot be created as configured, for example because a Secret is missing.
	ReasonConfigError = "CreateContainerConfigError"

	// ReasonImagePull: the image cannot be pulled, or its name is no image name.
	ReasonImagePull = "ImagePullBackOff"

	// ReasonCrashLoop: the container starts and exits, again and again.
	ReasonCrashLoop = "CrashLoopBackOff"

	// ReasonFailed: the Pod has failed for good, for example because its node evicted it.
	ReasonFailed = "PodFailed"

	// ReasonUnschedulable: no node takes the Pod.
	ReasonUnschedulable = "Unschedulable"

	// ReasonNotReady: the container runs and its readiness probe does not succeed.
	ReasonNotReady = "PodNotReady"
)

var severity = []string{
	ReasonConfigError, ReasonImagePull, ReasonCrashLoop, ReasonFailed, ReasonUnschedulable, ReasonNotReady,
}

// Problem is what keeps a Pod from being ready.
type Problem struct {
	// Reason is one of the Reason constants of this package.
	Reason string

	// Message is a sentence for the user.
	Message string
}

// Worst returns the worst problem of the Pods that are not being deleted, and whether there is one. Among equally bad
// ones it takes the first by message, so the order of the Pods does not matter.
func Worst(pods []*corev1.Pod) (Problem, bool) {
	var problems []Problem
	for _, pod := range pods {
		if p, found := problemOf(pod); found {
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		return Problem{}, false
	}
	return slices.MinFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason)),
			strings.Compare(a.Message, b.Message),
		)
	}), true
}

func problemOf(pod *corev1.Pod) (Problem, bool) {
	switch {
	case pod.DeletionTimestamp != nil:
		return Problem{}, false
	case pod.Status.Phase == corev1.PodFailed:
		return failed(pod), true
	}
	for i := range pod.Status.ContainerStatuses {
		if p, found := containerProblem(&pod.Status.ContainerStatuses[i]); found {
			return p, true
		}
	}
	if c := condition(pod, corev1.PodScheduled); c != nil && c.Reason == corev1.PodReasonUnschedulable {
		return Problem{ReasonUnschedulable, sentence("A Pod cannot be scheduled", withoutPreemption(c.Message))}, true
	}
	if c := condition(pod, corev1.PodReady); pod.Status.Phase == corev1.PodRunning && c != nil && c.Status != corev1.ConditionTrue {
		return Problem{ReasonNotReady, "A Pod runs but is not ready."}, true
	}
	return Problem{}, false
}

func failed(pod *corev1.Pod) Problem {
	if pod.Status.Reason == "" {
		return Problem{ReasonFailed, "A Pod has failed."}
	}
	return Problem{ReasonFailed, sentence("A Pod has failed", pod.Status.Reason)}
}

func containerProblem(s *corev1.ContainerStatus) (Problem, bool) {
	if w := s.State.Waiting; w != nil {
		switch w.Reason {
		case "CreateContainerConfigError", "CreateContainerError", "RunContainerError":
			return Problem{ReasonConfigError, sentence("A container cannot be created", w.Message)}, true
		case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable":
			return Problem{ReasonImagePull, fmt.Sprintf("The image %s cannot be pulled.", s.Image)}, true
		}
	}
	if !s.Ready {
		return crash(s)
	}
	return Problem{}, false
}

// crash recognises a crash loop in each of its states: waiting for the next start, running for a moment, just exited.
func crash(s *corev1.ContainerStatus) (Problem, bool) {
	exit := s.State.Terminated
	if exit == nil && (s.State.Waiting == nil || s.State.Waiting.Reason == "CrashLoopBackOff") {
		exit = s.LastTerminationState.Terminated
	}
	if exit == nil {
		return Problem{}, false
	}
	if s.Name == workloadv1.ContainerName {
		return Problem{ReasonCrashLoop, fmt.Sprintf("The container keeps exiting, last with code %d.", exit.ExitCode)}, true
	}
	return Problem{ReasonCrashLoop, fmt.Sprintf("The container %s keeps exiting, last with code %d.", s.Name, exit.ExitCode)}, true
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == t {
			return c
		}
	}
	return nil
}

// withoutPreemption keeps the scheduler's verdict and drops the account of the victims it looked for.
func withoutPreemption(message string) string {
	verdict, _, _ := strings.Cut(message, " preemption:")
	return verdict
}

func sentence(claim, detail string) string {
	detail = strings.TrimRight(strings.TrimSpace(detail), ".")
	if detail == "" {
		return claim + "."
	}
	return claim + ": " + detail + "."
}
