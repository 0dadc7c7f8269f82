package podset

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/objectmetrics"
)

const (
	controllerName = "podset"

	kindPodSet = "PodSet"
	kindPod    = "Pod"

	// nameLength is the length of the random end of a Pod's name.
	nameLength = 5

	// requestsInFlight of one pass. The API server queues up to 300 requests of one user before it refuses some, and who sends only
	// a hundred at once waits for the scheduler and the nodes, which want the same processors.
	requestsInFlight = 200

	firstRetryDelay = 50 * time.Millisecond
	maxRetryDelay   = time.Minute
)

// Options tune the reconciler.
type Options struct {
	// MaxConcurrentReconciles is how many PodSets are reconciled at the same time. Zero means one.
	MaxConcurrentReconciles int
	// Wrap is put around the reconciler, given the controller's name. Nil: nothing is.
	Wrap func(controller string, next reconcile.Reconciler) reconcile.Reconciler
}

// Setup registers the controller of PodSets with the manager. The manager's cache must hold the Pods that carry the label
// app.kubernetes.io/managed-by=workload-operator.
func Setup(mgr ctrl.Manager, o Options) error {
	r := &Reconciler{
		client:   mgr.GetClient(),
		claims:   &claims{reader: mgr.GetCache()},
		live:     mgr.GetAPIReader(),
		events:   mgr.GetEventRecorder(workloadv1.FieldManager),
		clock:    clock.RealClock{},
		newName:  func(prefix string) string { return prefix + utilrand.String(nameLength) },
		width:    requestsInFlight,
		progress: newWatchProgress(),
		alive:    newAlivePods(),
		records:  &records{byKey: map[types.NamespacedName]*record{}},
		states:   objectmetrics.States{Kind: kindPodSet},
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		For(&batchv1.PodSet{}).
		WatchesRawSource(r.claims.source(mgr.GetCache())).
		WatchesRawSource(source.Kind(mgr.GetCache(), &corev1.Pod{}, r.podEvents())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: o.MaxConcurrentReconciles,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetryDelay, maxRetryDelay),
		}).
		Complete(o.wrapped(r))
	if err != nil {
		return fmt.Errorf("setting up the PodSet controller: %w", err)
	}
	return nil
}

func (o Options) wrapped(r reconcile.Reconciler) reconcile.Reconciler {
	if o.Wrap == nil {
		return r
	}
	return o.Wrap(controllerName, r)
}

// podEvents wakes the PodSet that a Pod belongs to, before and after the change. The progress of the watch, and which Pods are
// alive, is noted first, so that the pass which an event starts knows about it.
func (r *Reconciler) podEvents() handler.TypedEventHandler[*corev1.Pod, reconcile.Request] {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	wake := func(q queue, pods ...*corev1.Pod) {
		for _, pod := range pods {
			r.progress.saw(pod.Namespace, pod.ResourceVersion)
		}
		for _, pod := range pods {
			if name := podSetOf(pod); name != "" {
				q.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: name}})
			}
		}
	}
	return handler.TypedFuncs[*corev1.Pod, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*corev1.Pod], q queue) {
			r.alive.saw(e.Object)
			wake(q, e.Object)
		},
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*corev1.Pod], q queue) {
			r.alive.changed(e.ObjectOld, e.ObjectNew)
			wake(q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*corev1.Pod], q queue) {
			r.alive.left(e.Object)
			wake(q, e.Object)
		},
	}
}

// podSetOf names the PodSet that controls the Pod, or that may adopt it.
func podSetOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		if isPodSet(owner) {
			return owner.Name
		}
		return ""
	}
	return pod.Labels[batchv1.LabelPodSet]
}
