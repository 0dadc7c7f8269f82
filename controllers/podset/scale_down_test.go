package podset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// TestPick covers P-09 and P-10.
func TestPick(t *testing.T) {
	zones := map[string]string{"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c1": "c"}
	cases := map[string]struct {
		reason  string
		victims victims
		pods    []*corev1.Pod
		others  []*corev1.Pod
		n       int
		want    []string
	}{
		"P-09": {
			reason: "unassigned, not ready, cheap to delete, then the others",
			pods:   []*corev1.Pod{pod("plain"), pod("cheap", cost("-5")), pod("unready", notReady), pod("unassigned", unassigned)},
			n:      3,
			want:   []string{"unassigned", "unready", "cheap"},
		},
		"P-09 preferred": {
			reason:  "the user's wish comes before everything; names of no Pods are ignored",
			victims: victims{prefer: sets.New("plain", "no-such-pod")},
			pods:    []*corev1.Pod{pod("plain"), pod("cheap", cost("-5")), pod("unready", notReady), pod("unassigned", unassigned)},
			n:       1,
			want:    []string{"plain"},
		},
		"phase": {
			reason: "pending before unknown before running",
			pods: []*corev1.Pod{
				pod("running", notReady),
				pod("unknown", notReady, func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }),
				pod("pending", notReady, func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }),
			},
			n:    2,
			want: []string{"pending", "unknown"},
		},
		"cost before spread": {
			reason: "a lower cost goes before a fuller node; an unreadable one counts as 0",
			pods:   []*corev1.Pod{pod("x", on("a1"), cost("lots")), pod("y", on("a1")), pod("z", on("b1"), cost("-1"))},
			n:      1,
			want:   []string{"z"},
		},
		"node": {
			reason: "the fuller node gives first",
			pods:   []*corev1.Pod{pod("x", on("a1")), pod("y", on("a2")), pod("z", on("a2"))},
			n:      1,
			want:   []string{"y"},
		},
		"zone before node": {
			reason:  "two nodes of a full zone with one Pod each give before a node with two in a zone with two",
			victims: victims{zones: zones},
			pods: []*corev1.Pod{
				pod("b", on("b1")), pod("bb", on("b1")),
				pod("x", on("a1")), pod("y", on("a2")), pod("z", on("a2")),
			},
			n:    1,
			want: []string{"y"},
		},
		"others count": {
			reason: "a Pod that stays makes its node full",
			pods:   []*corev1.Pod{pod("x", on("a1")), pod("y", on("b1"))},
			others: []*corev1.Pod{pod("stays", on("b1"))},
			n:      1,
			want:   []string{"y"},
		},
		"shorter ready": {
			reason: "who was ready for a shorter time goes first",
			pods:   []*corev1.Pod{pod("long"), pod("short", readyFor(time.Minute))},
			n:      1,
			want:   []string{"short"},
		},
		"restarts": {
			reason: "who restarted more often goes first",
			pods: []*corev1.Pod{pod("calm"), pod("nervous", func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{RestartCount: 3}}
			})},
			n:    1,
			want: []string{"nervous"},
		},
		"younger": {
			reason: "who is younger goes first",
			pods:   []*corev1.Pod{pod("old"), pod("young", age(time.Minute))},
			n:      1,
			want:   []string{"young"},
		},
		"newest": {
			reason:  "P-10: the newest go, whatever their state and place",
			victims: victims{policy: batchv1.ScaleDownNewest},
			pods: []*corev1.Pod{
				pod("1", age(6*time.Hour), notReady), pod("2", age(5*time.Hour)), pod("3", age(4*time.Hour)),
				pod("4", age(3*time.Hour)), pod("5", age(2*time.Hour)), pod("6", age(time.Hour)),
			},
			n:    3,
			want: []string{"6", "5", "4"},
		},
		"newest, preferred": {
			reason:  "wishes and costs come before age",
			victims: victims{policy: batchv1.ScaleDownNewest, prefer: sets.New("1")},
			pods:    []*corev1.Pod{pod("1", age(6*time.Hour)), pod("2", age(5*time.Hour), cost("-1")), pod("3", age(time.Hour))},
			n:       2,
			want:    []string{"1", "2"},
		},
		"more than there are": {
			reason: "all of them",
			pods:   []*corev1.Pod{pod("x")},
			n:      5,
			want:   []string{"x"},
		},
		"none": {reason: "a negative number takes none", pods: []*corev1.Pod{pod("x")}, n: -1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := names(c.victims.pick(c.pods, c.others, c.n))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestSpreadRemains covers P-10: what matters is what remains.
func TestSpreadRemains(t *testing.T) {
	zones := map[string]string{"a1": "a", "a2": "a", "b1": "b", "b2": "b", "c1": "c", "c2": "c"}
	cases := map[string]struct {
		reason string
		nodes  []string
		left   int
		place  func(node string) string
		want   map[string]int
	}{
		"zones": {
			reason: "six Pods in three zones, three remain: one per zone",
			nodes:  []string{"a1", "a2", "b1", "b2", "c1", "c2"},
			left:   3,
			place:  func(node string) string { return zones[node] },
			want:   map[string]int{"a": 1, "b": 1, "c": 1},
		},
		"nodes": {
			reason: "five Pods on two nodes, two remain: one per node",
			nodes:  []string{"a1", "a1", "a1", "a2", "a2"},
			left:   2,
			place:  func(node string) string { return node },
			want:   map[string]int{"a1": 1, "a2": 1},
		},
		"uneven zones": {
			reason: "a zone with many gives until it has no more than the others",
			nodes:  []string{"a1", "a1", "a2", "a2", "b1", "c1"},
			left:   3,
			place:  func(node string) string { return zones[node] },
			want:   map[string]int{"a": 1, "b": 1, "c": 1},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			for i, node := range c.nodes {
				pods = append(pods, pod(string(rune('a'+i)), on(node)))
			}
			gone := victims{zones: zones}.pick(pods, nil, len(pods)-c.left)
			got := map[string]int{}
			for _, p := range pods {
				if !slices.Contains(gone, p) {
					got[c.place(p.Spec.NodeName)]++
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestPickIsAsIfOneByOne: lanes change how fast Pods are picked, not which.
func TestPickIsAsIfOneByOne(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 0))
	zones := map[string]string{"n0": "a", "n1": "a", "n2": "b", "n3": "c"}
	for range 200 {
		var pods, others []*corev1.Pod
		for i := range 12 {
			p := pod(fmt.Sprint("p", i), on(fmt.Sprint("n", random.IntN(4))), readyFor(time.Duration(random.IntN(3))*time.Minute), cost(fmt.Sprint(random.IntN(2))))
			switch random.IntN(6) {
			case 0:
				unassigned(p)
			case 1:
				notReady(p)
			case 2:
				others = append(others, p)
				continue
			}
			pods = append(pods, p)
		}
		v := victims{zones: zones, policy: []batchv1.ScaleDownPolicy{batchv1.ScaleDownSpread, batchv1.ScaleDownNewest}[random.IntN(2)], prefer: sets.New("p3")}
		n := random.IntN(len(pods) + 1)
		if diff := cmp.Diff(names(oneByOne(v, pods, others, n)), names(v.pick(pods, others, n))); diff != "" {
			t.Fatalf("seed %d (-one by one, +picked):\n%s", seed, diff)
		}
	}
}

// oneByOne compares all that are left with each other, before each pick.
func oneByOne(v victims, pods, others []*corev1.Pod, n int) []*corev1.Pod {
	var picked []*corev1.Pod
	for range n {
		crowd := newCrowd()
		var left []candidate
		for _, p := range slices.Concat(pods, others) {
			if c := v.candidate(p); !slices.Contains(picked, p) {
				crowd.add(&c, 1)
				if slices.Contains(pods, p) {
					left = append(left, c)
				}
			}
		}
		picked = append(picked, slices.MinFunc(left, func(a, b candidate) int { return v.compare(&a, &b, crowd) }).pod)
	}
	return picked
}
