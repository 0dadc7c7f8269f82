package podset

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// observeHidden asks the API server about each Pod that left the cache without a deletion, and counts those that exist. It
// comes after the cache was read and the writes that it shows were forgotten: what is missing then is missing for a reason.
func (r *Reconciler) observeHidden(ctx context.Context, o *observation, expected expectations, cached map[types.UID]*corev1.Pod) error {
	missing := r.alive.missing(o.podSet, cached, expected)
	found := make([]*corev1.Pod, len(missing))
	var calls errgroup.Group
	calls.SetLimit(r.width)
	for i := range missing {
		calls.Go(func() error {
			pod := &corev1.Pod{}
			err := r.live.Get(ctx, types.NamespacedName{Namespace: o.podSet.Namespace, Name: missing[i].name}, pod)
			if err == nil {
				found[i] = pod
			}
			return client.IgnoreNotFound(err)
		})
	}
	if err := calls.Wait(); err != nil {
		return fmt.Errorf("asking whether a Pod that left the cache still exists: %w", err)
	}
	for i, pod := range found {
		if !stillOurs(pod, missing[i].uid, o.podSet) {
			r.alive.gone(client.ObjectKeyFromObject(o.podSet), missing[i].uid)
			continue
		}
		o.sort(pod)
		if relabellable(pod, o.podSet) {
			o.hidden = append(o.hidden, pod)
		}
	}
	return nil
}

// stillOurs tells a hidden Pod from one that is gone, or whose name another one has. One that is being deleted still counts, as it
// would in the cache, unless it is to be released: then it goes anyway.
func stillOurs(pod *corev1.Pod, uid types.UID, podSet *batchv1.PodSet) bool {
	return pod != nil && pod.UID == uid && ownedBy(pod, podSet) &&
		(!terminating(pod) || pod.Labels[batchv1.LabelPodSet] == podSet.Name)
}

// relabellable: the Pod lacks the label that brings it into the cache. The label may be back already, and the cache about to
// show the Pod; and without the other label too the Pod is to be released, not kept.
func relabellable(pod *corev1.Pod, podSet *batchv1.PodSet) bool {
	return pod.Labels[batchv1.LabelPodSet] == podSet.Name && !findable(pod, podSet)
}

// hiddenPods select what looks like a Pod of a PodSet and is not in the cache: by the label of P-13, which tells whose it is,
// and by that of the revision, which nobody has a reason to take off.
var hiddenPods = []string{
	batchv1.LabelPodSet + "," + workloadv1.LabelManagedBy + "!=" + workloadv1.ManagedBy,
	batchv1.LabelRevision + ",!" + batchv1.LabelPodSet + "," + workloadv1.LabelManagedBy + "!=" + workloadv1.ManagedBy,
}

// sweep finds the Pods that were hidden while no operator ran.
type sweep struct {
	mu   sync.Mutex
	done bool
}

// sweepOnce makes PodSets ask about their hidden Pods in their first pass. It is two LISTs in the life of a process, for all
// PodSets together, of metadata, and normally of nothing. No pass starts before the watch of Pods is in step, so the watch
// tells about whatever is hidden later.
//
// A Pod that lost all of its labels while no operator ran is not found: that would take a LIST of every Pod of the cluster. It
// runs on, replaced by another one, until garbage collection takes it with its PodSet.
func (r *Reconciler) sweepOnce(ctx context.Context) error {
	r.sweep.mu.Lock()
	defer r.sweep.mu.Unlock()
	if r.sweep.done {
		return nil
	}
	for _, pods := range hiddenPods {
		selector, err := labels.Parse(pods)
		if err != nil {
			return err
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
		if err := r.live.List(ctx, list, client.MatchingLabelsSelector{Selector: selector}); err != nil {
			return fmt.Errorf("looking for Pods that lost their label: %w", err)
		}
		for i := range list.Items {
			r.alive.saw(&list.Items[i])
		}
	}
	r.sweep.done = true
	return nil
}
