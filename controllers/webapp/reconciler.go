package webapp

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/objectmetrics"
	"github.com/example/workload-operator/controllers/statuspatch"
)

const (
	// conflictDelay is how long a pass waits after it lost a race, in case the event of the winner is late.
	conflictDelay = time.Second

	// notOwnedDelay is how often the name of a child is tried again while somebody else's object has it. The cache does
	// not hold that object, so no event says when it is gone.
	notOwnedDelay = 15 * time.Second

	// leavingDelay is the same for an object that is already being deleted.
	leavingDelay = 2 * time.Second
)

// Reconciler brings the children of WebApps in line with their specs.
type Reconciler struct {
	// client reads from the cache, and waits there until the cache has seen what this client wrote.
	client client.Client

	// live reads from the API server. It is asked only where the cache cannot know.
	live client.Reader

	recorder events.EventRecorder
	now      func() time.Time

	// leaving holds, by name, the UIDs of WebApps whose namespace is being terminated. For them there is nothing left to do.
	leaving sync.Map

	states objectmetrics.States
}

// Reconcile brings one WebApp up to date. A WebApp that is being deleted is left to the garbage collector.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	w := &appv1.WebApp{}
	if err := r.client.Get(ctx, req.NamespacedName, w); err != nil {
		if apierrors.IsNotFound(err) {
			r.leaving.Delete(req.NamespacedName)
			r.states.Forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if uid, _ := r.leaving.Load(req.NamespacedName); uid == w.UID || w.DeletionTimestamp != nil {
		r.states.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, w)
	if err != nil {
		return ctrl.Result{}, err
	}
	if seen.terminating() {
		r.leaving.Store(req.NamespacedName, w.UID)
		return ctrl.Result{}, nil
	}
	todo, err := planFor(w, seen)
	if err != nil {
		return ctrl.Result{}, err
	}
	done := r.apply(ctx, w, todo)
	countWrites(w, done.changes)
	if done.abandoned {
		r.leaving.Store(req.NamespacedName, w.UID)
		return ctrl.Result{}, nil
	}
	if done.raced { // a status of this pass could call ready what the spec asks to be changed
		r.record(w, eventsOf(w, w.Status, done.changes))
		return ctrl.Result{RequeueAfter: done.retry}, done.err
	}
	if len(done.changes) > 0 {
		if seen, err = r.observe(ctx, w); err != nil {
			return ctrl.Result{}, err
		}
	}
	next, wake := statusOf(w, seen, done.problems, r.now())
	r.states.Set(req.NamespacedName, objectmetrics.State{Conditions: next.Conditions})
	wait, err := r.report(ctx, w, next, done.changes)
	if err = errors.Join(done.err, err); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: soonest(wake, wait, done.retry)}, nil
}

// report writes the status, if it differs and is due, and then the events. It returns how long to wait until it is due.
func (r *Reconciler) report(ctx context.Context, w *appv1.WebApp, next appv1.WebAppStatus, changes []change) (time.Duration, error) {
	now := r.now()
	next, differs := stamped(w.Status, next, now)
	if wait := dueIn(w.Status, next, now); differs && wait > 0 {
		r.record(w, eventsOf(w, w.Status, changes))
		return wait, nil
	}
	if differs {
		patched := w.DeepCopy()
		patched.Status = next
		patch, err := statuspatch.Between(w, patched)
		if err != nil {
			return 0, err
		}
		err = r.client.Status().Patch(ctx, patched, patch, client.FieldOwner(workloadv1.FieldManager))
		switch {
		case apierrors.IsConflict(err):
			return conflictDelay, nil
		case err != nil:
			return 0, client.IgnoreNotFound(err)
		}
	}
	r.record(w, eventsOf(w, next, changes))
	return 0, nil
}

// soonest returns the shortest of the waits that are set.
func soonest(waits ...time.Duration) time.Duration {
	var first time.Duration
	for _, wait := range waits {
		if wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}
	return first
}
