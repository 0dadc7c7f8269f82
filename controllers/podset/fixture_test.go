package podset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

var (
	epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

	current  = revision{settings: "s1", image: "i1"}
	oldImage = revision{settings: "s1", image: "i0"}
	oldArgs  = revision{settings: "s0", image: "i1"}
)

// pod is a Pod of the current revision that has been ready for an hour on a node of its own; mutate makes it another.
func pod(name string, mutate ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, UID: types.UID("uid-" + name), ResourceVersion: "10",
		CreationTimestamp: metav1.NewTime(epoch.Add(-2 * time.Hour)),
		Labels:            map[string]string{batchv1.LabelPodSet: "web", batchv1.LabelRevision: current.String()},
	}}
	p.Spec.NodeName = "node-of-" + name
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(epoch.Add(-time.Hour)),
	}}
	for _, change := range mutate {
		change(p)
	}
	return p
}

// many makes n Pods called name-0, name-1 and so on.
func many(n int, name string, mutate ...func(*corev1.Pod)) []*corev1.Pod {
	pods := make([]*corev1.Pod, n)
	for i := range pods {
		pods[i] = pod(fmt.Sprintf("%s-%d", name, i), mutate...)
	}
	return pods
}

func of(r revision) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[batchv1.LabelRevision] = r.String() }
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }

func unassigned(p *corev1.Pod) {
	p.Spec.NodeName, p.Status.Phase, p.Status.Conditions = "", corev1.PodPending, nil
}

func notReady(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func readyFor(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(epoch.Add(-d)) }
}

func age(d time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(epoch.Add(-d)) }
}

func cost(value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: value} }
}

func managed(p *corev1.Pod) { p.Labels[workloadv1.LabelManagedBy] = workloadv1.ManagedBy }

func ours(p *corev1.Pod) {
	p.OwnerReferences = append(p.OwnerReferences, controllerRef(observed().podSet))
}

func dying(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(epoch)) }

// failedAfter is a Pod that was created at some time and failed so long after it.
func failedAfter(born time.Time, life time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.CreationTimestamp = metav1.NewTime(born)
		p.Status.Phase = corev1.PodFailed
		p.Status.Conditions[0].Status = corev1.ConditionFalse
		p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(born.Add(life))
	}
}

func names(pods []*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		all = append(all, p.Name)
	}
	return all
}

// observed is an observation of a PodSet of three replicas without Pods.
func observed(mutate ...func(*observation)) *observation {
	o := &observation{podSet: base("web"), now: epoch, revision: current}
	o.podSet.Namespace, o.podSet.UID, o.podSet.Generation = "ns", "uid-web", 4
	for _, change := range mutate {
		change(o)
	}
	return o
}

func running(pods ...*corev1.Pod) func(*observation) {
	return func(o *observation) { o.active = append(o.active, pods...) }
}

func spec(change func(*batchv1.PodSetSpec)) func(*observation) {
	return func(o *observation) { change(&o.podSet.Spec) }
}

func wanting(n int32) func(*observation) {
	return spec(func(s *batchv1.PodSetSpec) { s.Replicas = &n })
}
