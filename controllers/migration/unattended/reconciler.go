package unattended

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/controllers/migration"
)

// Engine is what the reconciler needs of a migration.Engine.
type Engine interface {
	Status(ctx context.Context, crd string) (*migration.Status, error)
	Run(ctx context.Context, crd string) (*migration.Report, error)
}

// Reasons of the events on a CustomResourceDefinition.
const (
	// ReasonPending: a migration is due, and this operator was told not to do it.
	ReasonPending = "MigrationPending"
	// ReasonStarted: a phase begins.
	ReasonStarted = "MigrationProgress"
	// ReasonDone: every object is in the storage version.
	ReasonDone = "Migrated"
	// ReasonIncomplete: objects were refused, or not proved to be migrated; the message names one.
	ReasonIncomplete = "MigrationIncomplete"
)

// action of the events.
const action = "Migrate"

// Reconciler migrates the objects of one definition at a time.
type Reconciler struct {
	options Options
	engine  Engine
	events  events.EventRecorder
	logger  logr.Logger // of what happens during a run
	delays  workqueue.TypedRateLimiter[string]
	said    sync.Map // by definition, what an event was last sent about
	uids    sync.Map // by definition
}

// Reconcile migrates if a migration is due.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	crd := request.Name
	status, err := r.engine.Status(ctx, crd)
	if apierrors.IsNotFound(err) {
		pending.DeleteLabelValues(crd)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	r.uids.Store(crd, status.UID)
	if !status.Pending {
		pending.WithLabelValues(crd).Set(0)
		return ctrl.Result{}, nil
	}
	pending.WithLabelValues(crd).Set(1)
	if r.options.ReportOnly {
		r.sayOnce(crd, corev1.EventTypeWarning, ReasonPending, "A migration is due, and --auto-migrate is off: "+status.Reason)
		return ctrl.Result{}, nil
	}
	log.FromContext(ctx).Info("Migrating stored objects", "crd", crd, "target", status.Target, "storedVersions", status.StoredVersions)
	report, err := r.engine.Run(ctx, crd)
	return r.conclude(ctx, crd, report, err)
}

// conclude says how a run ended, and when to try again.
func (r *Reconciler) conclude(ctx context.Context, crd string, report *migration.Report, err error) (ctrl.Result, error) {
	select {
	case <-ctx.Done():
		return ctrl.Result{}, nil // this replica does not lead any more: the next one goes on
	default:
	}
	logger := log.FromContext(ctx).WithValues("crd", crd)
	switch {
	case err != nil:
		runs.WithLabelValues(crd, "error").Inc()
		delay := r.delays.When(crd)
		logger.Error(err, "Migration failed, trying again", "delay", delay)
		return ctrl.Result{RequeueAfter: delay}, nil
	case !report.Complete():
		runs.WithLabelValues(crd, "incomplete").Inc()
		delay := r.delays.When(crd)
		logger.Info("Migration is incomplete, trying again", "refused", report.Refused, "delay", delay, "example", example(report))
		r.sayOnce(crd, corev1.EventTypeWarning, ReasonIncomplete,
			fmt.Sprintf("%d of %d objects could not be migrated to %s: %s", report.Refused, report.Objects, report.Target, example(report)))
		return ctrl.Result{RequeueAfter: delay}, nil
	}
	runs.WithLabelValues(crd, "complete").Inc()
	r.delays.Forget(crd)
	pending.WithLabelValues(crd).Set(0)
	logger.Info("Migrated", "target", report.Target, "objects", report.Objects, "rewritten", report.Rewritten, "duration", report.Duration)
	r.sayOnce(crd, corev1.EventTypeNormal, ReasonDone, fmt.Sprintf("All objects are stored as %s; %d were rewritten", report.Target, report.Rewritten))
	return ctrl.Result{}, nil
}

// example is one object that was left behind.
func example(report *migration.Report) string {
	for _, p := range append(report.Refusals, report.StaleObjects...) {
		return fmt.Sprintf("%s/%s: %s", p.Namespace, p.Name, p.Reason)
	}
	return "no object is named"
}

// observe shows the progress of a run in metrics, and each phase in an event.
func (r *Reconciler) observe(p migration.Progress) {
	record(p)
	switch p.Phase {
	case migration.PhaseWaiting:
		r.await(p.CRD, p.Waiting)
	case migration.PhaseRewriting:
		r.said.Delete(p.CRD + "/waiting")
		r.sayOnce(p.CRD, corev1.EventTypeNormal, ReasonStarted, "Rewriting the stored objects")
	case migration.PhaseVerifying:
		r.sayOnce(p.CRD, corev1.EventTypeNormal, ReasonStarted, "Verifying that every object is in the storage version")
	}
}

// amounts are what a reason to wait counts down.
var amounts = regexp.MustCompile(`\b([0-9.]+(h|ms|m|s))+\b`)

// await says what a run waits for, once for each thing.
func (r *Reconciler) await(crd, reason string) {
	kind := amounts.ReplaceAllString(reason, "")
	if was, _ := r.said.Swap(crd+"/waiting", kind); was != kind {
		r.logger.Info("Migration waits", "crd", crd, "for", reason)
		r.say(crd, corev1.EventTypeNormal, ReasonStarted, "Waiting for "+reason)
	}
}

// sayOnce sends an event, unless the last one about this definition said the same.
func (r *Reconciler) sayOnce(crd, kind, reason, note string) {
	if was, _ := r.said.Swap(crd, reason+note); was != reason+note {
		r.say(crd, kind, reason, note)
	}
}

// say sends an event. A definition is in no namespace; such events are kept in the namespace default.
func (r *Reconciler) say(crd, kind, reason, note string) {
	uid, _ := r.uids.Load(crd)
	definition := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: crd},
	}
	definition.UID, _ = uid.(types.UID) // without it, kubectl describe does not find the event
	r.events.Eventf(definition, nil, kind, reason, action, "%s", note)
}
