package podhealth

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func waiting(reason, message string) *corev1.Pod {
	return withStatus(corev1.ContainerStatus{
		Name: "app", Image: "web:9", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	})
}

func withStatus(s corev1.ContainerStatus) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{s}}}
}

func exited(code int32) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: code}
}

func unschedulable(message string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}}}
}

func ready() *corev1.Pod {
	pod := withStatus(corev1.ContainerStatus{Name: "app", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return pod
}

// crashLoop returns one container in the three states that it passes through.
func crashLoop() []*corev1.Pod {
	last := corev1.ContainerState{Terminated: exited(3)}
	return []*corev1.Pod{
		withStatus(corev1.ContainerStatus{Name: "app", LastTerminationState: last, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}),
		withStatus(corev1.ContainerStatus{Name: "app", LastTerminationState: last, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}),
		withStatus(corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Terminated: exited(3)}}),
	}
}

func TestWorst(t *testing.T) {
	deleting := waiting("ImagePullBackOff", "")
	deleting.DeletionTimestamp = &metav1.Time{}
	failedPod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}}
	notReady := withStatus(corev1.ContainerStatus{Name: "app", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	notReady.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}

	cases := map[string]struct {
		reason string
		pods   []*corev1.Pod
		want   Problem
	}{
		"None":     {"nothing keeps ready Pods from being ready", []*corev1.Pod{ready()}, Problem{}},
		"Deleting": {"a Pod that goes away is nobody's problem", []*corev1.Pod{deleting}, Problem{}},
		"Starting": {"a Pod that is still being created has no problem yet", []*corev1.Pod{waiting("ContainerCreating", "")}, Problem{}},
		"ImagePull": {"both states of a failing pull read the same", []*corev1.Pod{waiting("ErrImagePull", "dial tcp: timeout")},
			Problem{ReasonImagePull, "The image web:9 cannot be pulled."}},
		"Config": {"the missing object is named", []*corev1.Pod{waiting("CreateContainerConfigError", `secret "db" not found`)},
			Problem{ReasonConfigError, `A container cannot be created: secret "db" not found.`}},
		"Failed": {"the node's reason is named", []*corev1.Pod{failedPod}, Problem{ReasonFailed, "A Pod has failed: Evicted."}},
		"NotReady": {"a probe that fails is the mildest", []*corev1.Pod{notReady},
			Problem{ReasonNotReady, "A Pod runs but is not ready."}},
		"Unschedulable": {"victims of preemption vary between attempts and are left out",
			[]*corev1.Pod{unschedulable("0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available: 1 No victims.")},
			Problem{ReasonUnschedulable, "A Pod cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu."}},
		"P-20": {"the worst Pod speaks", []*corev1.Pod{ready(), unschedulable("no node"), ready(), crashLoop()[0]},
			Problem{ReasonCrashLoop, "The container keeps exiting, last with code 3."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the order of the Pods does not matter
				got, found := Worst(tc.pods)
				if diff := cmp.Diff(tc.want, got); diff != "" || found != (tc.want != Problem{}) {
					t.Errorf("%s: found %v, -want, +got:\n%s", tc.reason, found, diff)
				}
				slices.Reverse(tc.pods)
			}
		})
	}
}

// P-20: the text does not change while the container restarts.
func TestWorstIsStableRoundTheCrashLoop(t *testing.T) {
	want, _ := Worst(crashLoop()[:1])
	for _, pod := range crashLoop() {
		if got, _ := Worst([]*corev1.Pod{pod}); got != want {
			t.Errorf("state %+v: got %+v, want %+v", pod.Status.ContainerStatuses[0].State, got, want)
		}
	}
}
