package podset

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// claimIndex finds Pods in the cache by who controls them, or could.
const claimIndex = "batch.example.com/claim"

// claims is the index of the cached Pods. A list of the cache costs a copy of each Pod, and every event of a PodSet leads to a
// list of all its Pods; where there is one store of Pods, which is so unless the operator works on some namespaces only, the
// Pods are read from it as they are.
type claims struct {
	reader client.Reader
	store  toolscache.Indexer // nil: a store for each namespace, behind the reader
}

// of returns the Pods with a claim, which must not be changed, in no order.
func (c *claims) of(ctx context.Context, namespace, claim string) ([]*corev1.Pod, error) {
	if c.store != nil {
		return c.stored(namespace, claim)
	}
	list := &corev1.PodList{}
	err := c.reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{claimIndex: claim}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

func (c *claims) stored(namespace, claim string) ([]*corev1.Pod, error) {
	found, err := c.store.ByIndex(claimIndex, namespace+"/"+claim)
	if err != nil {
		return nil, fmt.Errorf("looking for Pods in the cache: %w", err)
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, object := range found {
		if pod, is := object.(*corev1.Pod); is {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// source brings no events. It makes the index when the controller starts, where there is a context to do so, and before
// the first pass, which waits for all sources.
func (c *claims) source(pods cache.Cache) source.Source {
	return source.Func(func(ctx context.Context, _ workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		informer, err := pods.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching Pods: %w", err)
		}
		shared, is := informer.(toolscache.SharedIndexInformer)
		if !is {
			return pods.IndexField(ctx, &corev1.Pod{}, claimIndex, claimsOn)
		}
		c.store = shared.GetIndexer()
		return shared.AddIndexers(toolscache.Indexers{claimIndex: func(object any) ([]string, error) {
			pod, is := object.(*corev1.Pod)
			if !is {
				return nil, fmt.Errorf("the cache of Pods holds a %T", object)
			}
			keys := claimsOn(pod)
			for i := range keys {
				keys[i] = pod.Namespace + "/" + keys[i]
			}
			return keys, nil
		}})
	})
}

// claimsOn is the index function: whose Pod is it, or whose could it become?
func claimsOn(object client.Object) []string {
	if owner := metav1.GetControllerOfNoCopy(object); owner != nil {
		if isPodSet(owner) {
			return []string{ownedClaim(owner.UID)}
		}
		return nil
	}
	if name, labelled := object.GetLabels()[batchv1.LabelPodSet]; labelled {
		return []string{orphanClaim(name)}
	}
	return nil
}

func ownedClaim(uid types.UID) string { return "owned/" + string(uid) }

func orphanClaim(name string) string { return "orphan/" + name }

func isPodSet(owner *metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && group.Group == batchv1.GroupVersion.Group && owner.Kind == kindPodSet
}
