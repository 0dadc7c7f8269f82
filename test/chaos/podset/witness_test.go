package podset

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// witness sees every change of Pods and PodSets of a namespace. The storm does not reach it.
type witness struct {
	mu      sync.Mutex
	seen    []change
	watches sync.WaitGroup
	stop    context.CancelFunc
}

// change is one change, of a Pod or of a PodSet. All changes of a cluster are in one order, that of their versions.
type change struct {
	version uint64
	at      time.Time
	gone    bool
	pod     *corev1.Pod
	podSet  *batchv1.PodSet
}

func watchAll(ctx context.Context, c client.WithWatch, namespace, from string) *witness {
	ctx, cancel := context.WithCancel(ctx)
	w := &witness{stop: cancel}
	w.watches.Go(func() { w.follow(ctx, c, &corev1.PodList{}, namespace, from) })
	w.watches.Go(func() { w.follow(ctx, c, &batchv1.PodSetList{}, namespace, from) })
	return w
}

// follow watches on from the last version that was seen, until it is stopped.
func (w *witness) follow(ctx context.Context, c client.WithWatch, list client.ObjectList, namespace, from string) {
	for ctx.Err() == nil {
		watching, err := c.Watch(ctx, list, client.InNamespace(namespace), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from}})
		if err != nil {
			continue
		}
		for event := range watching.ResultChan() {
			if object, is := event.Object.(client.Object); is {
				from = object.GetResourceVersion()
				w.note(event.Type, object)
			}
		}
	}
}

func (w *witness) note(kind watch.EventType, object client.Object) {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		return
	}
	seen := change{version: version, at: time.Now(), gone: kind == watch.Deleted}
	switch o := object.(type) {
	case *corev1.Pod:
		seen.pod = o
	case *batchv1.PodSet:
		seen.podSet = o
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, seen)
}

// account ends the watches and returns all changes in the order in which they happened.
func (w *witness) account() []change {
	w.stop()
	w.watches.Wait()
	slices.SortStableFunc(w.seen, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	return w.seen
}
