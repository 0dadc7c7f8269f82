package podset

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/workload-operator/test/bench/internal/measure"
	"github.com/example/workload-operator/test/controlplane"
)

var (
	manyPods = flag.Int("pods", 2000, "number of Pods of BenchmarkMemory; the target is stated for 10000")
	rounds   = flag.Int("rounds", 2, "how often each comparison is made, with the other one first each time")
)

// figures of one measurement, by name.
type figures map[string]float64

// compare measures ReplicaSets and PodSets in turn, and reports the means of both and the ratio of those. Who comes second pays for
// what the first left in etcd and in the caches, some percent, so each round begins with the other.
func compare(b *testing.B, measure func(*sets) figures) {
	r := newRig(b)
	r.warmUp()
	for b.Loop() {
		sums := map[string]figures{replicaSets.name: {}, podSets.name: {}}
		for i := range *rounds {
			order := []peer{replicaSets, podSets}
			if i%2 == 1 {
				slices.Reverse(order)
			}
			for _, p := range order {
				for name, value := range r.measured(p, measure) {
					sums[p.name][name] += value / float64(*rounds)
				}
			}
		}
		theirs, ours := sums[replicaSets.name], sums[podSets.name]
		for _, name := range slices.Sorted(maps.Keys(ours)) {
			b.ReportMetric(ours[name], "podset-"+name)
			b.ReportMetric(theirs[name], "replicaset-"+name)
			b.ReportMetric(ours[name]/theirs[name], strings.TrimSuffix(name, "-s")+"-ratio")
		}
	}
	b.ReportMetric(0, "ns/op") // the sum of both says nothing
}

func (r *rig) measured(p peer, measure func(*sets) figures) figures {
	s := r.begin(p)
	defer s.end()
	return measure(s)
}

var warm bool

// warmUp lets the first requests of everything pass before something is measured.
func (r *rig) warmUp() {
	if warm {
		return
	}
	warm = true
	for _, p := range []peer{replicaSets, podSets} {
		s := r.begin(p)
		s.create(1, 100)
		s.awaitReported(100)
		s.end()
	}
}

// created measures the time until all Pods exist, are ready, and are reported as ready; and the requests it took.
func created(s *sets, n int, replicas int32) figures {
	all := n * int(replicas)
	log := s.mark()
	start := time.Now()
	s.create(n, replicas)
	s.pods.await("all Pods exist", func(c counts) bool { return c.existing == all })
	exist := time.Since(start)
	s.pods.await("all Pods are ready", func(c counts) bool { return c.ready == all })
	ready := time.Since(start)
	s.awaitReported(replicas)
	told := time.Since(start)
	c, _ := s.pods.count()
	if c.created != all {
		s.b.Errorf("%s created %d Pods instead of %d", s.name, c.created, all)
	}
	return figures{
		"created-s": exist.Seconds(), "ready-s": ready.Seconds(), "reported-s": told.Seconds(),
		"calls/pod": float64(s.callsSince(log)) / float64(all),
	}
}

// BenchmarkCreate: one set of many replicas.
func BenchmarkCreate(b *testing.B) {
	for _, n := range []int32{1000, 3000} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			compare(b, func(s *sets) figures { return created(s, 1, n) })
		})
	}
}

// BenchmarkManySets: a hundred sets of twenty.
func BenchmarkManySets(b *testing.B) {
	compare(b, func(s *sets) figures { return created(s, 100, 20) })
}

// BenchmarkChange: a set of a thousand loses half of its Pods and heals, and is then scaled down to a hundred.
func BenchmarkChange(b *testing.B) {
	compare(b, func(s *sets) figures {
		s.create(1, 1000)
		s.awaitReported(1000)
		healed := s.heal(500)
		s.awaitReported(1000)
		log := s.mark()
		start := time.Now()
		s.scale(100)
		s.pods.await("900 Pods are gone", func(c counts) bool { return c.existing == 100 })
		scaled := time.Since(start)
		s.awaitReported(100)
		return figures{"healed-s": healed.Seconds(), "scaled-down-s": scaled.Seconds(), "scale-down-calls/pod": float64(s.callsSince(log)) / 900}
	})
}

// heal deletes some Pods and returns how long it took until as many were ready again.
func (s *sets) heal(n int) time.Duration {
	ctx := s.b.Context()
	list, err := s.core.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	s.check(err)
	before, _ := s.pods.count()
	start := time.Now()
	s.check(parallel(n, func(i int) error {
		return s.core.CoreV1().Pods(s.namespace).Delete(ctx, list.Items[i].Name, metav1.DeleteOptions{})
	}))
	s.pods.await("the deleted Pods are replaced", func(c counts) bool {
		return c.created == before.created+n && c.ready == before.ready && c.existing == before.existing
	})
	return time.Since(start)
}

// BenchmarkNoOp: Pods change in ways that are no concern of the PodSet. It reports how many requests that costs.
func BenchmarkNoOp(b *testing.B) {
	r := newRig(b)
	s := r.begin(podSets)
	defer s.end()
	s.create(1, 200)
	s.awaitReported(200)
	list, err := r.core.CoreV1().Pods(s.namespace).List(b.Context(), metav1.ListOptions{})
	r.check(err)
	s.callsSince(s.mark()) // until it is quiet
	log := s.mark()
	for b.Loop() {
		r.check(parallel(len(list.Items), func(i int) error { return s.touch(&list.Items[i], b.Elapsed()) }))
	}
	calls := s.callsSince(log)
	if calls != 0 {
		b.Errorf("%d requests although there was nothing to do", calls)
	}
	b.ReportMetric(float64(calls), "calls")
}

func (s *sets) touch(pod *corev1.Pod, value fmt.Stringer) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"touched":%q}}}`, value)
	_, err := s.core.CoreV1().Pods(s.namespace).Patch(s.b.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// BenchmarkMemory reports the resident memory of the manager with many Pods.
func BenchmarkMemory(b *testing.B) {
	r := newRig(b)
	for b.Loop() {
		s := r.begin(podSets)
		n := *manyPods / 500
		s.create(n, 500)
		s.pods.await("all Pods are ready", func(c counts) bool { return c.ready == n*500 })
		s.awaitReported(500)
		s.callsSince(s.mark())
		now, peak := r.memory(measure.Resident), r.memory(measure.ResidentPeak)
		b.Logf("%d Pods: %.0f MB resident, %.0f MB at most", n*500, now, peak)
		b.ReportMetric(now, "MB")
		b.ReportMetric(peak, "MB-peak")
		b.ReportMetric(float64(n*500), "pods")
		s.end()
	}
	b.ReportMetric(0, "ns/op")
}

// memory of the manager, in MB.
func (r *rig) memory(field string) float64 {
	r.b.Helper()
	mib, err := measure.MemoryMiB(r.operator.PID(), field)
	r.check(err)
	return mib
}

// mark is the present end of the audit log.
func (s *sets) mark() int64 {
	end, err := s.plane.AuditLog.End()
	s.check(err)
	return end
}

// callsSince waits until the controller is quiet and returns how many requests it made, leases aside.
func (s *sets) callsSince(mark int64) int {
	s.b.Helper()
	total, last := 0, -1
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for total != last {
		<-ticker.C
		last, total = total, 0
		calls, err := s.plane.AuditLog.Count(mark, func(q *controlplane.Request) bool {
			return q.User == s.user && q.Resource != "leases" && q.Verb != "watch"
		})
		s.check(err)
		for _, n := range calls {
			total += n
		}
		if total == last {
			s.tell(calls)
		}
	}
	return total
}

// tell logs what kinds of requests were made.
func (s *sets) tell(calls map[controlplane.RequestKind]int) {
	var lines []string
	for kind, n := range calls {
		lines = append(lines, fmt.Sprintf("%s %s/%s: %d", kind.Verb, kind.Resource, kind.Subresource, n))
	}
	slices.Sort(lines)
	s.b.Logf("%s: %s", s.name, strings.Join(lines, ", "))
}
