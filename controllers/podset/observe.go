package podset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// observation is what one pass knows. Everything in it is read only.
type observation struct {
	podSet   *batchv1.PodSet
	now      time.Time
	revision revision

	active      []*corev1.Pod // ours, neither terminating nor finished
	terminating []*corev1.Pod // ours, being deleted
	finished    []*corev1.Pod // ours, failed or succeeded and not being deleted
	orphans     []*corev1.Pod // they carry our label and nobody controls them
	strays      []*corev1.Pod // ours, and somebody took our label off
	hidden      []*corev1.Pod // of the above, those that lack the label which brings Pods into the cache

	zones    map[string]string // zone of each node that an active Pod runs on; filled if Pods may have to be chosen
	expected expectations      // not empty: the cache is older than our own last write
	refusal  *refusal
	failures failures
}

// observe reads the caches; it asks the API server only about writes that stay unseen for too long, and about Pods that left
// the cache without a deletion. A nil observation means that there is nothing to do, or not yet if there is a record.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*observation, *record, error) {
	podSet := &batchv1.PodSet{}
	if err := r.client.Get(ctx, key, podSet); err != nil {
		if apierrors.IsNotFound(err) {
			r.records.forget(key)
			r.alive.forget(key)
			r.states.Forget(key)
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("reading the PodSet: %w", err)
	}
	known := r.records.of(podSet)
	now := r.clock.Now()
	if known.pace.rests(now) {
		known.again = known.pace.next
		return nil, known, nil
	}
	if known.own.shuts(podSet) {
		if patience := known.own.patience(now); patience > 0 {
			known.again = now.Add(patience)
			return nil, known, nil
		}
		if err := known.own.lookPast(ctx, r.live, podSet, now); err != nil {
			return nil, nil, client.IgnoreNotFound(err)
		}
	}
	if podSet.UID != known.uid || podSet.DeletionTimestamp != nil || known.namespaceTerminating {
		r.states.Forget(key)
		return nil, nil, nil
	}
	if err := r.sweepOnce(ctx); err != nil {
		return nil, nil, err
	}
	current, err := revisionOf(&podSet.Spec)
	if err != nil {
		return nil, nil, err
	}
	o := &observation{podSet: podSet, now: now, revision: current}

	// The progress of the watch is read before the Pods, so the Pods are at least that new.
	newest := r.progress.version(key.Namespace)
	if err := r.observePods(ctx, o); err != nil {
		return nil, nil, err
	}
	cached := byUID(o.active, o.terminating, o.finished, o.orphans, o.strays)
	if err := r.settle(ctx, o, known, cached, newest); err != nil {
		return nil, nil, err
	}
	if err := r.observeHidden(ctx, o, known.expected, cached); err != nil {
		return nil, nil, err
	}
	o.order()
	known.failures.observe(slices.Concat(o.active, o.finished), current, known.expected, o.now)
	o.expected, o.refusal, o.failures = known.expected, known.refusal, known.failures
	return o, known, r.observeZones(ctx, o)
}

func (r *Reconciler) observePods(ctx context.Context, o *observation) error {
	owned, err := r.claims.of(ctx, o.podSet.Namespace, ownedClaim(o.podSet.UID))
	if err != nil {
		return err
	}
	for _, pod := range owned {
		o.sort(pod)
	}
	orphans, err := r.claims.of(ctx, o.podSet.Namespace, orphanClaim(o.podSet.Name))
	if err != nil {
		return err
	}
	for _, pod := range orphans {
		if !terminating(pod) {
			o.orphans = append(o.orphans, pod)
		}
	}
	return nil
}

// order makes the same Pods the same observation, whatever order they were found in.
func (o *observation) order() {
	for _, pods := range [][]*corev1.Pod{o.active, o.terminating, o.finished, o.orphans, o.strays, o.hidden} {
		slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	}
}

// sort puts a Pod that we control where it belongs.
func (o *observation) sort(pod *corev1.Pod) {
	labelled := pod.Labels[batchv1.LabelPodSet] == o.podSet.Name
	switch {
	case !labelled && terminating(pod):
		// It goes anyway, and nobody waits for it.
	case !labelled:
		o.strays = append(o.strays, pod)
	case terminating(pod):
		o.terminating = append(o.terminating, pod)
	case finished(pod):
		o.finished = append(o.finished, pod)
	default:
		o.active = append(o.active, pod)
	}
}

// settle forgets the writes that the cache shows, and asks the API server about those that it should have shown long ago.
func (r *Reconciler) settle(ctx context.Context, o *observation, known *record, cached map[types.UID]*corev1.Pod, newest string) error {
	known.expected.settle(cached, newest)
	known.dropAnswered(o)
	if !known.expected.overdue(o.now) {
		return nil
	}
	list := &corev1.PodList{}
	if err := r.live.List(ctx, list, client.InNamespace(o.podSet.Namespace), client.MatchingLabels(selectorOf(o.podSet))); err != nil {
		return fmt.Errorf("asking the API server about Pods that the cache does not show: %w", err)
	}
	live := make(map[types.UID]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		live[list.Items[i].UID] = &list.Items[i]
	}
	known.expected.check(live, o.now)
	return nil
}

// dropAnswered forgets names of lost creations that turned out to have worked.
func (k *record) dropAnswered(o *observation) {
	for _, pods := range [][]*corev1.Pod{o.active, o.terminating, o.finished} {
		for _, pod := range pods {
			k.unanswered.Delete(pod.Name)
		}
	}
}

// observeZones finds out where Pods run, if this pass may have to choose among them. From Kubernetes 1.35 on Pods carry the
// zone of their node as a label; only for others the node is read. A node that is gone has no zone.
func (r *Reconciler) observeZones(ctx context.Context, o *observation) error {
	if !o.mustChoose() {
		return nil
	}
	o.zones = map[string]string{}
	for _, pod := range o.active {
		name := pod.Spec.NodeName
		if _, known := o.zones[name]; known || name == "" {
			continue
		}
		if zone, labelled := pod.Labels[corev1.LabelTopologyZone]; labelled {
			o.zones[name] = zone
			continue
		}
		node := &metav1.PartialObjectMetadata{}
		node.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Node"))
		if err := r.client.Get(ctx, types.NamespacedName{Name: name}, node); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the zone of a node: %w", err)
		}
		o.zones[name] = node.Labels[corev1.LabelTopologyZone]
	}
	return nil
}

func (o *observation) mustChoose() bool {
	if len(o.expected) > 0 {
		return false
	}
	return len(o.active) > o.desired() && o.desired() > 0 || len(o.outdated()) > 0
}

// desired is how many Pods the user wants now.
func (o *observation) desired() int {
	switch {
	case o.podSet.Spec.Suspend:
		return 0
	case o.podSet.Spec.Replicas == nil:
		return 1
	default:
		return int(*o.podSet.Spec.Replicas)
	}
}

// outdated are the active Pods of another revision than the current one.
func (o *observation) outdated() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range o.active {
		if podRevision(pod) != o.revision {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (o *observation) available() (n int) {
	for _, pod := range o.active {
		if available(pod, o.podSet.Spec.MinReadySeconds, o.now) {
			n++
		}
	}
	return n
}

func byUID(groups ...[]*corev1.Pod) map[types.UID]*corev1.Pod {
	count := 0
	for _, group := range groups {
		count += len(group)
	}
	pods := make(map[types.UID]*corev1.Pod, count)
	for _, group := range groups {
		for _, pod := range group {
			pods[pod.UID] = pod
		}
	}
	return pods
}
