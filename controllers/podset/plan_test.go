package podset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// intent is a decision in a form that is easy to compare.
type intent struct {
	Adopt, Release, Remove, Forget, Replace, Patch []string

	Create        int
	Waiting, Held bool
	Wake          time.Duration // after epoch
}

func intentOf(d decision) intent {
	i := intent{
		Adopt: names(d.adopt), Release: names(d.release), Remove: names(d.remove), Forget: names(d.forget),
		Replace: names(d.replace), Patch: names(d.patch), Create: d.create, Waiting: d.waiting, Held: d.held,
	}
	if !d.wakeAt.IsZero() {
		i.Wake = d.wakeAt.Sub(epoch)
	}
	return i
}

func refusedUntil(d time.Duration, generation int64) func(*observation) {
	return func(o *observation) {
		o.refusal = &refusal{reason: "FailedCreate", generation: generation, retryAt: epoch.Add(d)}
	}
}

func suspended(s *batchv1.PodSetSpec) { s.Suspend = true }

func replaceFailed(s *batchv1.PodSetSpec) { s.PodReplacementPolicy = batchv1.ReplaceFailed }

func TestPlan(t *testing.T) {
	stray := pod("stray")
	cases := map[string]struct {
		reason string
		seen   *observation
		want   intent
	}{
		"empty":      {"P-01: all are created", observed(), intent{Create: 3}},
		"complete":   {"nothing to do", observed(running(many(3, "a")...)), intent{}},
		"one gone":   {"P-02: it is replaced", observed(running(many(2, "a")...)), intent{Create: 1}},
		"no number":  {"unset means one", observed(spec(func(s *batchv1.PodSetSpec) { s.Replicas = nil })), intent{Create: 1}},
		"many":       {"a burst is bounded", observed(wanting(3000)), intent{Create: 500}},
		"too many":   {"the surplus goes", observed(wanting(2), running(pod("a"), pod("b", notReady), pod("c"))), intent{Remove: []string{"b"}}},
		"late cache": {"P-03: nothing is decided", observed(late("a")), intent{Waiting: true, Wake: expectationPatience}},
		"terminating": {
			"P-08: it is replaced at once",
			observed(running(many(2, "a")...), going(pod("t", dying))), intent{Create: 1},
		},
		"terminating, policy Failed": {
			"P-08: only once it is gone",
			observed(spec(replaceFailed), running(many(2, "a")...), going(pod("t", dying))), intent{},
		},
		"terminating and failed, policy Failed": {
			"it has failed, so it is replaced",
			observed(spec(replaceFailed), running(many(2, "a")...), going(pod("t", failedAfter(epoch, 0), dying))), intent{Create: 1},
		},
		"scale down, policy Failed": {
			"what terminates is no surplus",
			observed(spec(replaceFailed), running(many(3, "a")...), going(many(2, "t", dying)...)), intent{},
		},
		"failed": {
			"P-07: it is replaced and kept to look at",
			observed(running(many(2, "a")...), ended(pod("f", failedAfter(epoch, 0)))), intent{Create: 1},
		},
		"failed history": {
			"P-06: the oldest go first",
			observed(running(many(3, "a")...), ended(
				pod("new", failedAfter(epoch, 3)), pod("old", failedAfter(epoch.Add(-time.Hour), 0)),
				pod("newer", failedAfter(epoch, 4)), pod("older", failedAfter(epoch.Add(-2*time.Hour), 0)),
				pod("newest", failedAfter(epoch, 5)))),
			intent{Forget: []string{"older", "old"}},
		},
		"no failed history": {
			"P-06: none remain",
			observed(spec(func(s *batchv1.PodSetSpec) { s.FailedPodsHistoryLimit = new(int32(0)) }),
				running(many(3, "a")...), ended(pod("f", failedAfter(epoch, 0)))),
			intent{Forget: []string{"f"}},
		},
		"orphan": {
			"P-11: it is adopted and counts",
			observed(running(many(2, "a")...), func(o *observation) { o.orphans = many(1, "o") }),
			intent{Adopt: []string{"o-0"}},
		},
		"orphan too many": {
			"P-13: nothing is removed before the adoption is seen",
			observed(running(many(3, "a")...), func(o *observation) { o.orphans = many(1, "o") }),
			intent{Adopt: []string{"o-0"}},
		},
		"finished orphan": {
			"it is adopted and does not count",
			observed(running(many(2, "a")...), func(o *observation) { o.orphans = many(1, "o", failedAfter(epoch, 0)) }),
			intent{Adopt: []string{"o-0"}, Create: 1},
		},
		"stray": {
			"P-13: it is released and replaced",
			observed(running(many(2, "a")...), func(o *observation) { o.strays = []*corev1.Pod{stray} }),
			intent{Release: []string{"stray"}, Create: 1},
		},
		"suspended": {
			"P-15: all go",
			observed(spec(suspended), running(many(2, "a")...)), intent{Remove: []string{"a-0", "a-1"}},
		},
		"suspended, empty": {"nothing to do", observed(spec(suspended)), intent{}},
		"refused": {
			"P-05: not again before its time",
			observed(refusedUntil(time.Minute, 4)), intent{Held: true, Wake: time.Minute},
		},
		"refused, time is up": {"P-05: another attempt", observed(refusedUntil(0, 4)), intent{Create: 3}},
		"refused, new spec":   {"another spec is tried at once", observed(refusedUntil(time.Minute, 3)), intent{Create: 3}},
		"failing": {
			"P-06: not before the delay is over",
			observed(func(o *observation) { o.failures = failures{count: 2, last: epoch} }), intent{Wake: 10 * time.Second},
		},
		"ready for too short": {
			"P-21: one look when the first becomes available",
			observed(spec(func(s *batchv1.PodSetSpec) { s.MinReadySeconds = 30 }),
				running(pod("a", readyFor(10*time.Second)), pod("b", readyFor(5*time.Second)), pod("c"))),
			intent{Wake: 20 * time.Second},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, intentOf(plan(c.seen))); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}

func late(name string) func(*observation) {
	return func(o *observation) {
		o.expected = expectations{}
		o.expected.expect(pod(name), created, epoch)
	}
}

func going(pods ...*corev1.Pod) func(*observation) {
	return func(o *observation) { o.terminating = pods }
}

func ended(pods ...*corev1.Pod) func(*observation) {
	return func(o *observation) { o.finished = pods }
}
