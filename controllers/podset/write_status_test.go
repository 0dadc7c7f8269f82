package podset

import (
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

func TestOnlyCountsMoved(t *testing.T) {
	status := func(change func(*batchv1.PodSetStatus)) *batchv1.PodSetStatus {
		s := &batchv1.PodSetStatus{ObservedGeneration: 2, CurrentRevision: "a-b", Conditions: []metav1.Condition{
			{Type: "Ready", Status: "False", Reason: "Progressing", Message: "1 of 3 Pods are available."},
		}}
		change(s)
		return s
	}
	cases := map[string]struct {
		change func(*batchv1.PodSetStatus)
		want   bool
	}{
		"counts":     {func(s *batchv1.PodSetStatus) { s.Replicas, s.PodNames = 2, []string{"x"} }, true},
		"message":    {func(s *batchv1.PodSetStatus) { s.Conditions[0].Message = "2 of 3 Pods are available." }, true},
		"generation": {func(s *batchv1.PodSetStatus) { s.ObservedGeneration++ }, false},
		"revision":   {func(s *batchv1.PodSetStatus) { s.CurrentRevision = "a-c" }, false},
		"selector":   {func(s *batchv1.PodSetStatus) { s.Selector = "x=y" }, false},
		"reason":     {func(s *batchv1.PodSetStatus) { s.Conditions[0].Reason = "CrashLoopBackOff" }, false},
		"verdict":    {func(s *batchv1.PodSetStatus) { s.Conditions[0].Status = "True" }, false},
		"condition":  {func(s *batchv1.PodSetStatus) { s.Conditions = append(s.Conditions, metav1.Condition{Type: "Stalled"}) }, false},
	}
	for name, tc := range cases {
		if got := onlyCountsMoved(status(func(*batchv1.PodSetStatus) {}), status(tc.change)); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// TestCountsWait: Pods that become ready one by one are told once a second, the last one at once.
func TestCountsWait(t *testing.T) {
	h := &history{clock: testingclock.NewFakePassiveClock(epoch)}
	h.modelAPI = newModelAPI(rand.New(rand.NewPCG(1, 1)), h.clock.Now)
	podSet := base("web", replicas(4))
	podSet.Namespace, podSet.UID, podSet.Generation = "ns", "uid-web", 1
	h.setPodSet(podSet)
	h.restart()
	for range 3 {
		h.catchUp(t.Context())
	}
	told := func() int32 { return h.podSet.Status.ReadyReplicas }
	step := func(advance time.Duration, becomes int, want int32) {
		t.Helper()
		for _, p := range h.pods {
			if becomes > 0 && !ready(p) {
				p = p.DeepCopy()
				p.Status.Phase, p.Status.Conditions = corev1.PodRunning, h.readiness(corev1.ConditionTrue)
				h.setPod(p)
				becomes--
			}
		}
		h.clock.SetTime(h.clock.Now().Add(advance))
		h.catchUp(t.Context())
		if told() != want {
			t.Fatalf("the status tells of %d ready Pods, want %d", told(), want)
		}
	}
	step(2*countsInterval, 1, 1)
	step(countsInterval/4, 1, 1)
	result, err := h.reconcile(t.Context())
	if err != nil || result.RequeueAfter != countsInterval*3/4 {
		t.Errorf("the next pass comes after %s (%v), want %s", result.RequeueAfter, err, countsInterval*3/4)
	}
	step(countsInterval, 0, 2)
	step(countsInterval/4, 1, 2)
	step(countsInterval/4, 1, 4) // ready, so it is told at once
}
