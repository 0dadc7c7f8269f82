package podset

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// victims ranks Pods for removal.
type victims struct {
	policy batchv1.ScaleDownPolicy
	prefer sets.Set[string]  // names that go first
	zones  map[string]string // zone of each node
}

// candidate is what the ranking looks at, read once per Pod.
type candidate struct {
	pod        *corev1.Pod
	preferred  bool
	unassigned bool
	phase      int
	ready      bool
	cost       int
	node, zone string
	readySince time.Time
	restarts   int32
}

// pick takes n of pods, the ones that can best be missed. others stay in any case and count for the spread.
// After each pick the spread is looked at anew, so the Pods that remain are spread as evenly as the rest of the ranking allows.
func (v victims) pick(pods, others []*corev1.Pod, n int) []*corev1.Pod {
	n = min(n, len(pods))
	if n <= 0 {
		return nil
	}
	crowd := newCrowd()
	for _, pod := range others {
		other := v.candidate(pod)
		crowd.add(&other, 1)
	}
	lanes := v.lanes(pods, crowd)
	picked := make([]*corev1.Pod, 0, n)
	for range n {
		first := 0
		for i := range lanes {
			if v.compare(&lanes[i][0], &lanes[first][0], crowd) < 0 {
				first = i
			}
		}
		crowd.add(&lanes[first][0], -1)
		picked = append(picked, lanes[first][0].pod)
		if lanes[first] = lanes[first][1:]; len(lanes[first]) == 0 {
			lanes = slices.Delete(lanes, first, first+1)
		}
	}
	return picked
}

// lanes are the candidates of each node, in their order, and adds them to the crowd. How crowded it is matters only between nodes,
// so the order within one stays, and only the first of each lane has to be looked at for the next pick.
func (v victims) lanes(pods []*corev1.Pod, crowd crowd) [][]candidate {
	byNode := map[string][]candidate{}
	for _, pod := range pods {
		c := v.candidate(pod)
		crowd.add(&c, 1)
		byNode[c.node] = append(byNode[c.node], c)
	}
	lanes := slices.Collect(maps.Values(byNode))
	for _, lane := range lanes {
		slices.SortFunc(lane, func(a, b candidate) int { return v.compare(&a, &b, crowd) })
	}
	return lanes
}

func (v victims) candidate(pod *corev1.Pod) candidate {
	since, isReady := readySince(pod)
	c := candidate{
		pod:        pod,
		preferred:  v.prefer.Has(pod.Name),
		unassigned: pod.Spec.NodeName == "",
		phase:      phaseRank(pod.Status.Phase),
		ready:      isReady,
		cost:       deletionCost(pod),
		node:       pod.Spec.NodeName,
		zone:       v.zones[pod.Spec.NodeName],
		readySince: since,
	}
	for i := range pod.Status.ContainerStatuses {
		c.restarts = max(c.restarts, pod.Status.ContainerStatuses[i].RestartCount)
	}
	return c
}

// compare is negative if a goes before b. The order is that of ReplicaSet, with the user's explicit wishes first and the
// zone beside the node.
func (v victims) compare(a, b *candidate, crowd crowd) int {
	if v.policy == batchv1.ScaleDownNewest {
		return cmp.Or(
			first(a.preferred, b.preferred),
			cmp.Compare(a.cost, b.cost),
			b.pod.CreationTimestamp.Compare(a.pod.CreationTimestamp.Time),
			cmp.Compare(a.pod.Name, b.pod.Name),
		)
	}
	return cmp.Or(
		first(a.preferred, b.preferred),
		first(a.unassigned, b.unassigned),
		cmp.Compare(a.phase, b.phase),
		first(!a.ready, !b.ready),
		cmp.Compare(a.cost, b.cost),
		cmp.Compare(crowd.zones[b.zone], crowd.zones[a.zone]),
		cmp.Compare(crowd.nodes[b.node], crowd.nodes[a.node]),
		b.readySince.Compare(a.readySince),
		cmp.Compare(b.restarts, a.restarts),
		b.pod.CreationTimestamp.Compare(a.pod.CreationTimestamp.Time),
		cmp.Compare(a.pod.Name, b.pod.Name),
	)
}

// crowd counts Pods by place.
type crowd struct{ zones, nodes map[string]int }

func newCrowd() crowd { return crowd{zones: map[string]int{}, nodes: map[string]int{}} }

func (c crowd) add(p *candidate, n int) {
	if p.unassigned {
		return
	}
	c.zones[p.zone] += n
	c.nodes[p.node] += n
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

func phaseRank(phase corev1.PodPhase) int {
	switch phase {
	case corev1.PodPending, "":
		return 0
	case corev1.PodUnknown:
		return 1
	default:
		return 2
	}
}

// deletionCost reads the annotation that users and autoscalers set; what is no number counts as 0, as in ReplicaSet.
func deletionCost(pod *corev1.Pod) int {
	cost, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return int(cost)
}
