package podset

import (
	"context"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

const patience = 4 * time.Minute

// counts of the Pods in one namespace.
type counts struct{ created, existing, ready int } // ready ones are not being deleted

// podWatch counts the Pods of a namespace as the watch tells about them.
type podWatch struct {
	b       *testing.B
	mu      sync.Mutex
	changed chan struct{} // closed at the next change
	ready   map[types.UID]bool
	created int
	stop    func()
}

func (r *rig) watch(namespace string) *podWatch {
	r.b.Helper()
	w := &podWatch{b: r.b, changed: make(chan struct{}), ready: map[types.UID]bool{}}
	ctx, cancel := context.WithCancel(r.b.Context())
	factory := informers.NewSharedInformerFactoryWithOptions(r.core, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.note(object.(*corev1.Pod), false) },
		UpdateFunc: func(_, object any) { w.note(object.(*corev1.Pod), false) },
		DeleteFunc: func(object any) {
			if last, missed := object.(cache.DeletedFinalStateUnknown); missed {
				object = last.Obj
			}
			w.note(object.(*corev1.Pod), true)
		},
	})
	r.check(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	w.stop = func() { cancel(); factory.Shutdown() }
	return w
}

func (w *podWatch) note(pod *corev1.Pod, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.ready[pod.UID]; !known && !gone {
		w.created++
	}
	w.ready[pod.UID] = pod.DeletionTimestamp == nil && isReady(pod)
	if gone {
		delete(w.ready, pod.UID)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func (w *podWatch) count() (counts, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := counts{created: w.created, existing: len(w.ready)}
	for _, ready := range w.ready {
		if ready {
			c.ready++
		}
	}
	return c, w.changed
}

// await waits for a count.
func (w *podWatch) await(what string, is func(counts) bool) {
	w.b.Helper()
	timeout := time.After(patience)
	for {
		c, changed := w.count()
		if is(c) {
			return
		}
		select {
		case <-changed:
		case <-timeout:
			w.b.Fatalf("waited %s until %s: %+v", patience, what, c)
		case <-shared.operator.Done():
			w.b.Fatalf("while waiting until %s: %v", what, shared.operator.Ended())
		case <-w.b.Context().Done():
			w.b.Fatalf("interrupted while waiting until %s", what)
		}
	}
}

// eventually asks again and again.
func (r *rig) eventually(what string, is func() bool) {
	r.b.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(patience)
	for !is() {
		select {
		case <-ticker.C:
		case <-timeout:
			r.b.Fatalf("waited %s until %s", patience, what)
		}
	}
}

// parallel calls do for 0 to n-1, some at a time.
func parallel(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(20)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}
