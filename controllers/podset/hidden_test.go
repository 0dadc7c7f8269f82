package podset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// inNamespace makes a Pod one of the PodSet of observed.
func inNamespace(p *corev1.Pod) { p.Namespace = "ns" }

// TestMissing says which Pods the API server is asked about. The ordinary ways of Pods lead to no question.
func TestMissing(t *testing.T) {
	well := pod("a", inNamespace, managed, ours)
	leaving := pod("a", inNamespace, managed, ours, dying)
	former := pod("a", inNamespace, managed, ours, func(p *corev1.Pod) { p.OwnerReferences[0].UID = "former" })
	orphan := pod("a", inNamespace, managed)
	key := types.NamespacedName{Namespace: "ns", Name: "web"}
	cases := map[string]struct {
		reason   string
		history  func(a *alivePods)
		cached   bool
		expected expectations
		asked    bool
	}{
		"in the cache":        {"it is there", func(a *alivePods) { a.saw(well) }, true, nil, false},
		"label taken off":     {"gone, and nobody saw it being deleted", func(a *alivePods) { a.saw(well); a.left(well) }, false, nil, true},
		"not told yet":        {"the cache is ahead of the handlers", func(a *alivePods) { a.saw(well) }, false, nil, true},
		"deleted":             {"its deletion was seen", func(a *alivePods) { a.saw(well); a.changed(well, leaving); a.left(leaving) }, false, nil, false},
		"deleted unseen":      {"the last state shows the deletion", func(a *alivePods) { a.saw(well); a.left(leaving) }, false, nil, false},
		"deleted by us":       {"we know", func(a *alivePods) { a.saw(well); a.gone(key, well.UID); a.left(well) }, false, nil, false},
		"created by us":       {"the cache will show it", func(a *alivePods) { a.saw(well) }, false, expectations{"a": {uid: well.UID}}, false},
		"its name reused":     {"another Pod is expected", func(a *alivePods) { a.saw(well) }, false, expectations{"a": {uid: "new"}}, true},
		"released":            {"not ours any more", func(a *alivePods) { a.saw(well); a.changed(well, orphan); a.left(orphan) }, false, nil, false},
		"adopted":             {"ours by now", func(a *alivePods) { a.saw(orphan); a.changed(orphan, well); a.left(well) }, false, nil, true},
		"of a former PodSet":  {"P-22: nobody's business", func(a *alivePods) { a.saw(former); a.left(former) }, false, nil, false},
		"the PodSet was gone": {"forgotten with it", func(a *alivePods) { a.saw(well); a.forget(key) }, false, nil, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newAlivePods()
			c.history(a)
			cached := map[types.UID]*corev1.Pod{}
			if c.cached {
				cached[well.UID] = well
			}
			missing := a.missing(observed().podSet, cached, c.expected)
			if got := len(missing) == 1; got != c.asked {
				t.Errorf("asked: %t, want %t: %s", got, c.asked, c.reason)
			}
		})
	}
}

// TestAliveForgets: what left for good takes no memory.
func TestAliveForgets(t *testing.T) {
	a := newAlivePods()
	first, second := pod("a", inNamespace, ours), pod("b", inNamespace, ours)
	for _, p := range []*corev1.Pod{first, second} {
		a.saw(p)
	}
	for _, p := range []*corev1.Pod{first, second} {
		leaving := p.DeepCopy()
		dying(leaving)
		a.changed(p, leaving)
	}
	a.saw(pod("nobody's", inNamespace))
	a.saw(pod("foreign", inNamespace, func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "u", Controller: new(true)}}
	}))
	if len(a.pods) != 0 {
		t.Errorf("left over: %v", a.pods)
	}
}

// TestStillOurs says what the API server's answer about a missing Pod means, and what is done about the Pod.
func TestStillOurs(t *testing.T) {
	unlabelled := func(p *corev1.Pod) { delete(p.Labels, batchv1.LabelPodSet) }
	cases := map[string]struct {
		reason         string
		live           *corev1.Pod
		exists, repair bool
	}{
		"not found":       {"really gone", nil, false, false},
		"another":         {"the name was used again", pod("a", ours, func(p *corev1.Pod) { p.UID = "other" }), false, false},
		"given away":      {"nobody's, or another's", pod("a"), false, false},
		"being deleted":   {"to be seen going", pod("a", ours, dying), true, true},
		"on its way out":  {"to be released, and it goes anyway", pod("a", ours, dying, unlabelled), false, false},
		"without a label": {"to be repaired", pod("a", ours), true, true},
		"of another value": {"to be repaired", pod("a", ours, func(p *corev1.Pod) {
			p.Labels["app.kubernetes.io/managed-by"] = "helm"
		}), true, true},
		"label is back": {"the cache will show it", pod("a", ours, managed), true, false},
		"without both":  {"P-13: to be released, as it is", pod("a", ours, unlabelled), true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			podSet := observed().podSet
			if got := stillOurs(c.live, "uid-a", podSet); got != c.exists {
				t.Fatalf("exists: %t, want %t: %s", got, c.exists, c.reason)
			}
			if got := c.exists && relabellable(c.live, podSet); got != c.repair {
				t.Errorf("repaired: %t, want %t: %s", got, c.repair, c.reason)
			}
		})
	}
}

// TestPlanRelabel: a hidden Pod counts, and gets its label back before anything else happens to it.
func TestPlanRelabel(t *testing.T) {
	lost := pod("lost")
	hiding := func(o *observation) { o.active, o.hidden = append(o.active, lost), []*corev1.Pod{lost} }
	refusedAt := func(o *observation) { o.refusal = &refusal{generation: 4, retryAt: epoch} }
	heldUntil := func(o *observation) { o.refusal = &refusal{generation: 4, retryAt: epoch.Add(1)} }
	suspended := spec(func(s *batchv1.PodSetSpec) { s.Suspend = true })
	cases := map[string]struct {
		reason           string
		o                *observation
		relabel, removed []string
		create           int
	}{
		"one hidden":  {"no replacement", observed(running(many(2, "web")...), hiding), []string{"lost"}, nil, 0},
		"one missing": {"the others are replaced", observed(running(many(1, "web")...), hiding), []string{"lost"}, nil, 1},
		"suspended":   {"the label first", observed(suspended, hiding), []string{"lost"}, nil, 0},
		"held":        {"a refusal delays it", observed(suspended, hiding, heldUntil), nil, nil, 0},
		"refused":     {"it must not run on because of its label", observed(suspended, hiding, refusedAt), nil, []string{"lost"}, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d := plan(c.o)
			if diff := cmp.Diff([][]string{c.relabel, c.removed}, [][]string{names(d.relabel), names(d.remove)}); diff != "" || d.create != c.create {
				t.Errorf("%s: creates %d, -want, +got:\n%s", c.reason, d.create, diff)
			}
		})
	}
}

// TestHiddenPods holds the selectors of the sweep.
func TestHiddenPods(t *testing.T) {
	selected := func(p *corev1.Pod) (n int) {
		for _, pods := range hiddenPods {
			selector, err := labels.Parse(pods)
			if err != nil {
				t.Fatal(err)
			}
			if selector.Matches(labels.Set(p.Labels)) {
				n++
			}
		}
		return n
	}
	bothOff := func(p *corev1.Pod) { delete(p.Labels, batchv1.LabelPodSet) }
	cases := map[string]struct {
		pod  *corev1.Pod
		want int
	}{
		"in the cache":                {pod("a", managed), 0},
		"in the cache, to release":    {pod("a", managed, bothOff), 0},
		"without managed-by":          {pod("a"), 1},
		"without both":                {pod("a", bothOff), 1},
		"without any":                 {pod("a", func(p *corev1.Pod) { p.Labels = nil }), 0},
		"of somebody else altogether": {pod("a", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "x"} }), 0},
	}
	for name, tc := range cases {
		if got := selected(tc.pod); got != tc.want {
			t.Errorf("%s: selected %d times, want %d", name, got, tc.want)
		}
	}
}

// TestCreatedIsAlive: the handlers of the watch hear later than the cache shows, and a new Pod may be hidden before they do.
func TestCreatedIsAlive(t *testing.T) {
	a := newApplier()
	a.recordCreation(pod("x", inNamespace, ours), nil)
	if got := a.r.alive.missing(a.o.podSet, nil, nil); len(got) != 1 || got[0].name != "x" {
		t.Errorf("missing: %v", got)
	}
}
