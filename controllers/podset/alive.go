package podset

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// alivePods are the Pods of PodSets that were not being deleted when we last heard of them. One that is missing in the cache
// has lost the label that the cache is bounded by, which the watch tells as if the Pod were gone; or it went while the watch was
// interrupted. Every other Pod is struck off before it goes: the API server marks it as being deleted first, even without a
// grace period, and what we delete we strike off ourselves.
type alivePods struct {
	mu   sync.Mutex
	pods map[types.NamespacedName]map[types.UID]alivePod // by PodSet
}

type alivePod struct {
	name  string
	uid   types.UID
	owner types.UID
}

func newAlivePods() *alivePods {
	return &alivePods{pods: map[types.NamespacedName]map[types.UID]alivePod{}}
}

// saw takes note of a Pod that appeared, or that we wrote. The watch is not the only source: it tells later than the cache
// shows, and a Pod may appear and leave in between.
func (a *alivePods) saw(pod metav1.Object) { a.changed(pod, pod) }

// changed takes note of a Pod that may have got another owner.
func (a *alivePods) changed(before, pod metav1.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if owner := metav1.GetControllerOfNoCopy(before); owner != nil {
		a.strike(types.NamespacedName{Namespace: before.GetNamespace(), Name: owner.Name}, before.GetUID())
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || !isPodSet(owner) || pod.GetDeletionTimestamp() != nil {
		return
	}
	key := types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}
	if a.pods[key] == nil {
		a.pods[key] = map[types.UID]alivePod{}
	}
	a.pods[key][pod.GetUID()] = alivePod{name: pod.GetName(), uid: pod.GetUID(), owner: owner.UID}
}

// left takes note that a Pod left the cache. It stays here if it was not being deleted, as far as anybody saw.
func (a *alivePods) left(pod metav1.Object) {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil && pod.GetDeletionTimestamp() != nil {
		a.gone(types.NamespacedName{Namespace: pod.GetNamespace(), Name: owner.Name}, pod.GetUID())
	}
}

// gone strikes off a Pod of a PodSet that is deleted for sure.
func (a *alivePods) gone(podSet types.NamespacedName, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strike(podSet, uid)
}

func (a *alivePods) strike(podSet types.NamespacedName, uid types.UID) {
	delete(a.pods[podSet], uid)
	if len(a.pods[podSet]) == 0 {
		delete(a.pods, podSet)
	}
}

// forget drops all Pods of a PodSet that does not exist any more.
func (a *alivePods) forget(podSet types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, podSet)
}

// missing returns the Pods of the PodSet that should be in the cache and are not. Those that we wrote and that the cache does
// not show yet are not among them.
func (a *alivePods) missing(podSet *batchv1.PodSet, cached map[types.UID]*corev1.Pod, expected expectations) []alivePod {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := client.ObjectKeyFromObject(podSet)
	var missing []alivePod
	for uid, pod := range a.pods[key] {
		switch {
		case pod.owner != podSet.UID:
			a.strike(key, uid) // of a former PodSet of that name; garbage collection takes it
		case cached[uid] == nil && expected[pod.name].uid != uid:
			missing = append(missing, pod)
		}
	}
	return missing
}
