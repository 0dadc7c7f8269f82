package podset

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailures covers P-06: a simulated cluster in which every Pod fails a second after its creation.
func TestFailures(t *testing.T) {
	for _, want := range []int{1, 3, 50} {
		t.Run(fmt.Sprintf("replicas %d", want), func(t *testing.T) {
			var f failures
			var failed []*corev1.Pod
			rounds := map[int][]int{} // at which second how many were created
			for second := range 300 {
				now := epoch.Add(time.Duration(second) * time.Second)
				f.observe(failed, current, nil, now)
				allowed, again := f.allowance(want, nil, now)
				if allowed < want && !again.After(now) {
					t.Fatalf("second %d: %d of %d allowed and no later look at it", second, allowed, want)
				}
				for range allowed {
					p := pod(fmt.Sprintf("p%d", len(failed)), failedAfter(now, time.Second))
					f.created(p.Name)
					failed = append(failed, p)
				}
				if allowed > 0 {
					rounds[second] = append(rounds[second], allowed)
				}
			}
			// Delays are 0, 10, 20, 40, 80 and 160 seconds after the failure, which comes a second after the creation.
			expected := map[int][]int{0: {want}, 1: {want}, 12: {1}, 33: {1}, 74: {1}, 155: {1}}
			if diff := cmp.Diff(expected, rounds); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestFailuresForget says what ends a row of failures, and what never begins one.
func TestFailuresForget(t *testing.T) {
	row := func() failures { return failures{revision: current, count: 4, last: epoch} }
	cases := map[string]struct {
		reason   string
		failures failures
		pods     []*corev1.Pod
		revision revision
		after    time.Duration
		want     int
	}{
		"nothing new":        {"the row goes on", row(), nil, current, time.Minute, 4},
		"another template":   {"it may be better", row(), nil, oldArgs, time.Minute, 0},
		"long ago":           {"the cause may be gone", row(), nil, current, failureMemory + 1, 0},
		"just ready":         {"it may fail yet", row(), []*corev1.Pod{pod("a", readyFor(-time.Second))}, current, 10 * time.Second, 4},
		"ready for a while":  {"proven", row(), []*corev1.Pod{pod("a", readyFor(-time.Second))}, current, 11 * time.Second, 0},
		"ready before":       {"no proof", row(), []*corev1.Pod{pod("a", readyFor(time.Second))}, current, time.Minute, 4},
		"failed after hours": {"that is no failure at once", failures{revision: current}, []*corev1.Pod{pod("a", failedAfter(epoch.Add(-time.Hour), time.Hour))}, current, 0, 0},
		"another revision":   {"a template of the past", failures{revision: current}, []*corev1.Pod{pod("a", failedAfter(epoch, 0), of(oldArgs))}, current, 0, 0},
		"being deleted":      {"the user deleted it", failures{revision: current}, []*corev1.Pod{pod("a", failedAfter(epoch, 0), dying)}, current, 0, 0},
		"after a restart": {
			"what is still there counts, Pods of one time once",
			failures{}, []*corev1.Pod{
				pod("a", failedAfter(epoch.Add(-100*time.Second), time.Second)),
				pod("b", failedAfter(epoch.Add(-100*time.Second), time.Second)),
				pod("c", failedAfter(epoch.Add(-50*time.Second), time.Second)),
			}, current, 0, 2,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.failures.observe(c.pods, c.revision, nil, epoch.Add(c.after))
			c.failures.observe(c.pods, c.revision, nil, epoch.Add(c.after)) // a second look changes nothing
			if c.failures.count != c.want {
				t.Errorf("count %d, want %d: %s", c.failures.count, c.want, c.reason)
			}
		})
	}
}

// TestAllowance says how failing Pods slow creation down.
func TestAllowance(t *testing.T) {
	at := func(d time.Duration) time.Time { return epoch.Add(d) }
	born := func(d time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at(d)) }
	}
	cases := map[string]struct {
		reason string
		count  int
		pods   []*corev1.Pod
		now    time.Duration
		want   int
		again  time.Time
	}{
		"no failure":    {"all", 0, nil, 0, 20, time.Time{}},
		"first failure": {"P-07: replaced at once", 1, nil, 0, 20, time.Time{}},
		"too early":     {"none, until the delay is over", 3, nil, 19 * time.Second, 0, at(20 * time.Second)},
		"on time":       {"one tries", 3, nil, 20 * time.Second, 1, at(failureMemory + time.Second)},
		"one tries":     {"the others wait for it", 3, []*corev1.Pod{pod("a", born(21*time.Second), unassigned)}, 30 * time.Second, 0, at(failureMemory + time.Second)},
		"one is ready":  {"until it is proven", 3, []*corev1.Pod{pod("a", born(21*time.Second), readyFor(-25*time.Second))}, 30 * time.Second, 0, at(35 * time.Second)},
		"old ones":      {"Pods from before do not count", 3, []*corev1.Pod{pod("a")}, 30 * time.Second, 1, at(failureMemory + time.Second)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f := failures{count: c.count, last: epoch}
			got, again := f.allowance(20, c.pods, at(c.now))
			if got != c.want || !again.Equal(c.again) {
				t.Errorf("%d, again at %v; want %d, %v: %s", got, again, c.want, c.again, c.reason)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	var failing, refusing []time.Duration
	for n := range 9 {
		failing = append(failing, failureDelay(n)/time.Second)
		refusing = append(refusing, refusalDelay(n+1)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{0, 0, 10, 20, 40, 80, 160, 300, 300}, failing); diff != "" {
		t.Errorf("failing (-want, +got):\n%s", diff)
	}
	// P-05: fewer than 20 refusals in more than ten minutes, and no pause longer than a minute.
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 60, 60, 60}, refusing); diff != "" {
		t.Errorf("refusing (-want, +got):\n%s", diff)
	}
}

func TestFinishedAt(t *testing.T) {
	p := pod("a", failedAfter(epoch, time.Minute))
	if got := finishedAt(p); !got.Equal(epoch.Add(time.Minute)) {
		t.Errorf("by its conditions it finished at %v", got)
	}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(epoch.Add(time.Hour))},
	}}}
	if got := finishedAt(p); !got.Equal(epoch.Add(time.Hour)) {
		t.Errorf("by its container it finished at %v", got)
	}
}
