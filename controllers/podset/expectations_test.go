package podset

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func version(v string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.ResourceVersion = v } }

// TestSettle says when the cache shows a write.
func TestSettle(t *testing.T) {
	cases := map[string]struct {
		reason    string
		operation operation
		cached    *corev1.Pod // nil: the cache has no such Pod
		newest    string
		settled   bool
	}{
		"created, seen":            {"the Pod is there", created, pod("a"), "1", true},
		"created, late cache":      {"the watch is not as far as the write", created, nil, "19", false},
		"created, gone unseen":     {"P-03: the watch is further, so it came and went", created, nil, "20", true},
		"created, longer version":  {"versions are numbers, not text", created, nil, "100", true},
		"created, no watch yet":    {"nothing was delivered", created, nil, "", false},
		"deleted, late cache":      {"the Pod still looks well", deleted, pod("a", version("99")), "99", false},
		"deleted, terminating":     {"the deletion is visible", deleted, pod("a", dying), "1", true},
		"deleted, gone":            {"the Pod is away", deleted, nil, "1", true},
		"patched, late cache":      {"the Pod is the old one", patched, pod("a", version("19")), "99", false},
		"patched, seen":            {"the Pod is the one we wrote", patched, pod("a", version("20")), "1", true},
		"patched, and changed":     {"the Pod is newer than our write", patched, pod("a", version("21")), "1", true},
		"patched, gone":            {"a Pod that was there is away, so the cache is newer", patched, nil, "1", true},
		"created, unreadable news": {"what is no version is no progress", created, nil, "x", false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := expectations{}
			e.expect(pod("a", version("20")), c.operation, epoch)
			cached := map[types.UID]*corev1.Pod{}
			if c.cached != nil {
				cached[c.cached.UID] = c.cached
			}
			e.settle(cached, c.newest)
			if got := len(e) == 0; got != c.settled {
				t.Errorf("settled: %t, want %t: %s", got, c.settled, c.reason)
			}
		})
	}
}

// TestAppear: a Pod that got its label back is not in the cache yet, which shows nothing.
func TestAppear(t *testing.T) {
	e := expectations{}
	e.expect(pod("a", version("20")), patched, epoch)
	e.expect(pod("other", version("20")), patched, epoch)
	e.appear([]*corev1.Pod{pod("a"), pod("not-written")})
	e.settle(nil, "19")
	if _, waits := e["a"]; !waits || len(e) != 1 {
		t.Errorf("expected are %v, want a alone", e)
	}
	e.settle(nil, "20")
	if len(e) != 0 {
		t.Errorf("still expected: %v", e)
	}
}

// TestCheck says what the API server's answer means for writes that the cache does not show.
func TestCheck(t *testing.T) {
	cases := map[string]struct {
		reason    string
		operation operation
		live      *corev1.Pod
		kept      bool
	}{
		"created, exists":      {"the cache is late", created, pod("a"), true},
		"created, gone":        {"it may be replaced", created, nil, false},
		"deleted, exists":      {"the deletion did not happen", deleted, pod("a"), false},
		"deleted, terminating": {"the cache is late", deleted, pod("a", dying), true},
		"deleted, gone":        {"the cache is late", deleted, nil, true},
		"patched, exists":      {"the cache is late", patched, pod("a"), true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := expectations{}
			e.expect(pod("a"), c.operation, epoch)
			now := epoch.Add(expectationPatience)
			if !e.overdue(now) || e.overdue(now.Add(-1)) {
				t.Fatal("a write is overdue exactly when its time is up")
			}
			live := map[types.UID]*corev1.Pod{}
			if c.live != nil {
				live[c.live.UID] = c.live
			}
			e.check(live, now)
			if got := len(e) == 1; got != c.kept {
				t.Fatalf("kept: %t, want %t: %s", got, c.kept, c.reason)
			}
			if at, late := e.wakeAt(); late && !at.Equal(now.Add(expectationPatience)) {
				t.Errorf("the new deadline is %v", at)
			}
		})
	}
}

func TestWatchProgress(t *testing.T) {
	w := newWatchProgress()
	for _, seen := range []string{"9", "", "x", "10", "8"} {
		w.saw("a", seen)
	}
	if w.version("a") != "10" {
		t.Errorf("the newest version is %s", w.version("a"))
	}
	// The watch of another namespace may be far behind.
	if w.version("b") != "" {
		t.Errorf("the newest version of another namespace is %s", w.version("b"))
	}
}

// TestRecords: another object of the same name does not inherit (P-22).
func TestRecords(t *testing.T) {
	r := &records{byKey: map[types.NamespacedName]*record{}}
	podSet := base("web")
	podSet.UID = "one"
	first := r.of(podSet)
	if r.of(podSet) != first {
		t.Error("the record is lost")
	}
	podSet.UID = "two"
	if r.of(podSet) == first {
		t.Error("the record is inherited")
	}
	r.forget(types.NamespacedName{Name: "web"})
	if len(r.byKey) != 0 {
		t.Error("the record is kept")
	}
}

// TestNames covers P-04: a lost creation is asked for again under its name.
func TestNames(t *testing.T) {
	o := observed()
	known := (&records{byKey: map[types.NamespacedName]*record{}}).of(o.podSet)
	known.unanswered.Insert("web-pod-lost", "web-pod-found")
	o.active = []*corev1.Pod{pod("web-pod-found")}
	known.dropAnswered(o)
	a := &applier{o: o, known: known, r: &Reconciler{newName: func(prefix string) string { return prefix + "new" }}}
	if diff := cmp.Diff([]string{"web-pod-lost", "web-pod-new"}, a.names(2)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"web-pod-lost"}, a.names(1)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

func TestWakeAt(t *testing.T) {
	if _, late := (expectations{}).wakeAt(); late {
		t.Error("nothing is expected")
	}
	e := expectations{}
	e.expect(pod("late"), created, epoch.Add(time.Minute))
	e.expect(pod("early"), created, epoch)
	if at, _ := e.wakeAt(); !at.Equal(epoch.Add(expectationPatience)) {
		t.Errorf("wakes at %v", at)
	}
}

// TestSort says where Pods that we control belong.
func TestSort(t *testing.T) {
	unlabelled := func(p *corev1.Pod) { p.Labels = nil }
	o := observed()
	for _, p := range []*corev1.Pod{
		pod("well"), pod("unassigned", unassigned), pod("dying", dying), pod("failed", failedAfter(epoch, 0)),
		pod("succeeded", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("failed-dying", failedAfter(epoch, 0), dying),
		pod("stray", unlabelled), pod("stray-dying", unlabelled, dying),
	} {
		o.sort(p)
	}
	got := map[string][]string{
		"active": names(o.active), "terminating": names(o.terminating), "finished": names(o.finished), "strays": names(o.strays),
	}
	want := map[string][]string{
		"active": {"well", "unassigned"}, "terminating": {"dying", "failed-dying"},
		"finished": {"failed", "succeeded"}, "strays": {"stray"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !slices.Equal(names(o.outdated()), nil) {
		t.Errorf("outdated: %v", names(o.outdated()))
	}
}
