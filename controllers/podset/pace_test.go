package podset

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
)

func TestPace(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct{ pass, rest time.Duration }{
		"no time":     {0, 0},
		"a small set": {200 * time.Microsecond, 1800 * time.Microsecond},
		"a large set": {10 * time.Millisecond, 90 * time.Millisecond},
		"a slow one":  {time.Second, maxRest},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pace{}
			if p.rests(begin) {
				t.Error("rests before the first pass")
			}
			end := begin.Add(tc.pass)
			p.took(begin, end)
			got := map[string]bool{"at first": p.rests(end), "half way": p.rests(end.Add(tc.rest / 2)), "after": p.rests(end.Add(tc.rest))}
			if diff := cmp.Diff(map[string]bool{"at first": tc.rest > 0, "half way": tc.rest > 0, "after": false}, got); diff != "" {
				t.Errorf("rests (-want, +got):\n%s", diff)
			}
		})
	}
}

// ticking is a clock on which everything takes a while.
type ticking struct{ *testingclock.FakePassiveClock }

func (c ticking) Now() time.Time {
	now := c.FakePassiveClock.Now()
	c.SetTime(now.Add(time.Millisecond))
	return now
}

// The reconciler keeps to it: a second pass right after the first is put off, by no more than a rest.
func TestReconcilerRests(t *testing.T) {
	h := &history{clock: testingclock.NewFakePassiveClock(epoch)}
	h.modelAPI = newModelAPI(rand.New(rand.NewPCG(1, 0)), h.clock.Now)
	podSet := base("web")
	podSet.Namespace, podSet.UID, podSet.Generation = "ns", "uid-web", 1
	h.setPodSet(podSet)
	h.restart()
	h.reconciler.clock = ticking{h.clock}
	if _, err := h.reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	known := h.reconciler.records.byKey[types.NamespacedName{Namespace: "ns", Name: "web"}]
	if !known.pace.rests(h.clock.Now()) {
		t.Fatal("no rest after a pass")
	}
	result, err := h.reconcile(t.Context())
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > maxRest {
		t.Errorf("a pass during the rest: again after %s, %v; want a rest of at most %s", result.RequeueAfter, err, maxRest)
	}
}
