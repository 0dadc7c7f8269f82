package podset

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/controllers/objectmetrics"
)

// retrySoon is the pause before a pass that follows a lost race.
const retrySoon = 200 * time.Millisecond

// Reconciler brings PodSets to the state their spec asks for.
type Reconciler struct {
	client   client.Client // reads from the cache
	claims   *claims       // Pods of the cache
	live     client.Reader // reads from the API server
	events   events.EventRecorder
	clock    clock.PassiveClock
	newName  func(prefix string) string
	width    int // requests of one pass that are in flight at most
	progress *watchProgress
	alive    *alivePods
	sweep    sweep
	records  *records
	states   objectmetrics.States
}

// +kubebuilder:rbac:groups=batch.example.com,resources=podsets,verbs=get;list;watch
// +kubebuilder:rbac:groups=batch.example.com,resources=podsets/status,verbs=patch
// +kubebuilder:rbac:groups=batch.example.com,resources=podsets/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile makes one pass over one PodSet.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	begin := r.clock.Now()
	seen, known, err := r.observe(ctx, request.NamespacedName)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case seen == nil && known != nil:
		return ctrl.Result{RequeueAfter: max(known.again.Sub(r.clock.Now()), time.Millisecond)}, nil
	case seen == nil:
		return ctrl.Result{}, nil
	}
	decided := plan(seen)
	known.pace.took(begin, r.clock.Now())
	done := r.apply(ctx, seen, known, decided)
	countWrites(done)
	if done.unwanted || known.namespaceTerminating {
		return ctrl.Result{}, nil
	}
	logWrites(ctx, done)
	if err := r.writeStatus(ctx, seen, known); err != nil {
		return quiet(err)
	}
	r.report(seen.podSet, done, known.refusal)
	return r.next(known, decided, done)
}

// next says when to look again.
func (r *Reconciler) next(known *record, decided decision, done outcome) (ctrl.Result, error) {
	if done.err != nil {
		return ctrl.Result{}, done.err
	}
	at := decided.wakeAt
	if known.refusal != nil {
		at = earlier(at, known.refusal.retryAt)
	}
	at = earlier(at, known.statusDue)
	if expires, late := known.expected.wakeAt(); late {
		at = earlier(at, expires)
	}
	switch now := r.clock.Now(); {
	case done.stale:
		return ctrl.Result{RequeueAfter: retrySoon}, nil
	case at.IsZero():
		return ctrl.Result{}, nil
	default:
		// A moment that has passed meanwhile is due now; zero would mean never.
		return ctrl.Result{RequeueAfter: max(at.Sub(now), time.Millisecond)}, nil
	}
}

// quiet turns a lost race into another pass, and the end of the PodSet into silence.
func quiet(err error) (ctrl.Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: retrySoon}, nil
	default:
		return ctrl.Result{}, err
	}
}

func logWrites(ctx context.Context, done outcome) {
	if done.wrote() {
		log.FromContext(ctx).Info("Changed Pods", "created", done.created, "deleted", done.deleted,
			"updated", done.updated, "adopted", done.adopted, "released", done.released,
			"relabelled", done.relabelled)
	}
}

// countWrites shows the writes in metrics. A label that had to be put back is drift; whether a Pod that is missing was deleted by
// somebody, or left by itself, cannot be told.
func countWrites(done outcome) {
	for verb, n := range map[string]int{
		"create": done.created, "delete": done.deleted, "update": done.updated,
		"adopt": done.adopted, "release": done.released, "relabel": done.relabelled,
	} {
		objectmetrics.Wrote(kindPodSet, kindPod, verb, n)
	}
	objectmetrics.Repaired(kindPodSet, kindPod, done.relabelled)
}
