package podset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

func crashing(p *corev1.Pod) {
	notReady(p)
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
	}}
}

// TestConditions says which conditions show, and what kstatus makes of them.
func TestConditions(t *testing.T) {
	quota := &refusal{reason: batchv1.ReasonFailedCreate, message: "A Pod is forbidden: exceeded quota: small."}
	invalid := &refusal{reason: batchv1.ReasonFailedCreate, message: "A Pod is invalid.", invalid: true}
	paused := spec(func(s *batchv1.PodSetSpec) { s.Paused = true })
	cases := map[string]struct {
		reason  string
		seen    *observation
		refused *refusal
		want    []string // type=status reason
		message string   // of Ready
		kstatus status.Status
	}{
		"first pass": {
			"nothing is there yet", observed(), nil,
			[]string{"Ready=False Progressing", "Reconciling=True Progressing"}, "0 of 3 Pods are available.", status.InProgressStatus,
		},
		"complete": {
			"all is well", observed(running(many(3, "a")...)), nil,
			[]string{"Ready=True Ready"}, "All 3 Pods are available.", status.CurrentStatus,
		},
		"not yet available": {
			"P-21", observed(spec(func(s *batchv1.PodSetSpec) { s.MinReadySeconds = 7200 }), running(many(3, "a")...)), nil,
			[]string{"Ready=False Progressing", "Reconciling=True Progressing"}, "0 of 3 Pods are available.", status.InProgressStatus,
		},
		"worst Pod": {
			"P-20", observed(running(append(many(2, "a"), pod("x", crashing))...)), nil,
			[]string{"Ready=False CrashLoopBackOff", "Reconciling=True CrashLoopBackOff"},
			"The container keeps exiting, last with code 1.", status.InProgressStatus,
		},
		"too many": {
			"the surplus still has to go", observed(running(many(4, "a")...)), nil,
			[]string{"Ready=False Progressing", "Reconciling=True Progressing"}, "4 Pods run and 3 are wanted.", status.InProgressStatus,
		},
		"updating": {
			"old Pods are left", observed(running(append(many(2, "a"), pod("old", of(oldImage)))...)), nil,
			[]string{"Ready=False Progressing", "Reconciling=True Progressing"}, "1 Pods still get the current template.", status.InProgressStatus,
		},
		"partition": {
			"those that stay are no work", observed(strategy("", "", 1), running(append(many(2, "a"), pod("old", of(oldImage)))...)), nil,
			[]string{"Ready=True Ready"}, "All 3 Pods are available.", status.CurrentStatus,
		},
		"on delete": {
			"updating is up to the user", observed(strategy(batchv1.OnDeleteStrategy, "", 0), running(many(3, "old", of(oldImage))...)), nil,
			[]string{"Ready=True Ready"}, "All 3 Pods are available.", status.CurrentStatus,
		},
		"paused": {
			"nobody works on it, and it is not done", observed(paused, running(many(3, "old", of(oldImage))...)), nil,
			[]string{"Ready=False Paused"}, "The update is paused; 3 Pods do not have the current template.", status.InProgressStatus,
		},
		"paused, up to date": {
			"there is nothing to hold back", observed(paused, running(many(3, "a")...)), nil,
			[]string{"Ready=True Ready"}, "All 3 Pods are available.", status.CurrentStatus,
		},
		"suspending": {
			"Pods still have to go", observed(spec(suspended), running(pod("a")), going(pod("b", dying))), nil,
			[]string{"Ready=False Progressing", "Reconciling=True Progressing"}, "2 Pods still have to stop.", status.InProgressStatus,
		},
		"suspended": {
			"P-15", observed(spec(suspended)), nil,
			[]string{"Ready=True Suspended"}, "The PodSet is suspended and runs no Pods.", status.CurrentStatus,
		},
		"quota": {
			"P-05: we go on trying", observed(running(many(2, "a")...)), quota,
			[]string{"Ready=False ReplicaFailure", "Reconciling=True ReplicaFailure", "ReplicaFailure=True FailedCreate"},
			quota.message, status.InProgressStatus,
		},
		"invalid": {
			"only the user can help", observed(), invalid,
			[]string{"Ready=False InvalidSpec", "Stalled=True InvalidSpec", "ReplicaFailure=True FailedCreate"},
			invalid.message, status.FailedStatus,
		},
		"failing at once": {
			"P-06", observed(running(many(2, "a")...), func(o *observation) { o.failures.count = 2 }), nil,
			[]string{"Ready=False FailingPods", "Reconciling=True FailingPods"},
			"New Pods keep failing; the next one is created after a delay that grows with each failure.", status.InProgressStatus,
		},
		"surplus terminates": {
			"scaled down: the others are all there", observed(running(many(3, "a")...), going(many(2, "t", dying)...)), nil,
			[]string{"Ready=True Ready"}, "All 3 Pods are available.", status.CurrentStatus,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			podSet := c.seen.podSet.DeepCopy()
			podSet.Status = statusOf(c.seen, c.refused)
			var got []string
			for _, condition := range podSet.Status.Conditions {
				got = append(got, fmt.Sprintf("%s=%s %s", condition.Type, condition.Status, condition.Reason))
				if condition.ObservedGeneration != 4 || condition.Message == "" || !condition.LastTransitionTime.Time.Equal(epoch) {
					t.Errorf("incomplete condition: %+v", condition)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
			if message := conditionOf(podSet, workloadv1.ConditionReady).Message; message != c.message {
				t.Errorf("message %q, want %q", message, c.message)
			}
			if got := kstatusOf(t, podSet); got != c.kstatus {
				t.Errorf("kstatus says %s, want %s", got, c.kstatus)
			}
		})
	}
}

func kstatusOf(t *testing.T, podSet *batchv1.PodSet) status.Status {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(podSet)
	if err != nil {
		t.Fatal(err)
	}
	object["apiVersion"], object["kind"] = "batch.example.com/v1", "PodSet"
	result, err := status.Compute(&unstructured.Unstructured{Object: object})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// TestFirstInstantKstatus: before the controller ran, a reader must not think that all is done.
func TestFirstInstantKstatus(t *testing.T) {
	podSet := base("web")
	podSet.Generation, podSet.Status.ObservedGeneration = 1, -1
	if got := kstatusOf(t, podSet); got != status.InProgressStatus {
		t.Errorf("kstatus says %s", got)
	}
}

func TestStatusCounts(t *testing.T) {
	seen := observed(
		wanting(6),
		spec(func(s *batchv1.PodSetSpec) { s.MinReadySeconds = 60 }),
		running(pod("a"), pod("b", readyFor(time.Second)), pod("c", notReady), pod("d", of(oldImage)), pod("e", unassigned)),
		going(pod("f", dying), pod("g", dying, notReady)),
		ended(pod("h", failedAfter(epoch, 0)), pod("i", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })),
	)
	got := statusOf(seen, nil)
	got.Conditions = nil
	want := batchv1.PodSetStatus{
		ObservedGeneration: 4, Replicas: 5, ReadyReplicas: 3, AvailableReplicas: 2, UpdatedReplicas: 4,
		TerminatingReplicas: 2, FailedReplicas: 1, PodNames: []string{"a", "b", "c", "d", "e"},
		Selector: "podset-name=web", CurrentRevision: "s1-i1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// TestStatusIsBounded covers P-18, with the longest names and 5,000 replicas.
func TestStatusIsBounded(t *testing.T) {
	got := statusOf(observed(wanting(5000), running(many(5000, strings.Repeat("n", 52)+"-pod")...)), nil)
	raw, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.PodNames) != 100 || got.PodNamesOmitted != 4900 || len(raw) >= 16<<10 {
		t.Errorf("%d names, %d omitted, %d bytes", len(got.PodNames), got.PodNamesOmitted, len(raw))
	}
}

// TestTransitionTimes: a condition that goes on keeps its time, so that a quiet PodSet is not written.
func TestTransitionTimes(t *testing.T) {
	seen := observed(running(many(3, "a")...))
	seen.podSet.Status = statusOf(seen, nil)
	seen.now = epoch.Add(time.Hour)
	if diff := cmp.Diff(seen.podSet.Status, statusOf(seen, nil)); diff != "" {
		t.Errorf("a second look changes the status (-first, +second):\n%s", diff)
	}
	seen.active = seen.active[1:]
	ready := statusOf(seen, nil).Conditions[0]
	if ready.Status != metav1.ConditionFalse || !ready.LastTransitionTime.Time.Equal(seen.now) {
		t.Errorf("a change has its own time: %+v", ready)
	}
}
