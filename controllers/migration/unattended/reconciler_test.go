package unattended

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/workload-operator/controllers/migration"
)

const crd = "webapps.app.example.com"

// fake is an engine with a script.
type fake struct {
	status *migration.Status
	report *migration.Report
	err    error
	runs   int
}

func (f *fake) Status(context.Context, string) (*migration.Status, error) {
	if f.status == nil {
		return nil, apierrors.NewNotFound(schema.GroupResource{}, crd)
	}
	return f.status, nil
}

func (f *fake) Run(context.Context, string) (*migration.Report, error) {
	f.runs++
	return f.report, f.err
}

func newReconciler(engine *fake, o Options) (*Reconciler, *events.FakeRecorder) {
	recorder := events.NewFakeRecorder(20)
	return &Reconciler{
		options: o, engine: engine, events: recorder,
		delays: workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetryDelay, maxRetryDelay),
	}, recorder
}

func TestReconcile(t *testing.T) {
	due := &migration.Status{CRD: crd, UID: "1", Target: "v1", Pending: true, Reason: "objects may be stored in v1alpha1"}
	complete := &migration.Report{CRD: crd, Target: "v1", Objects: 3, Rewritten: 3, Verified: true}
	incomplete := &migration.Report{CRD: crd, Target: "v1", Objects: 3, Refused: 1, Refusals: []migration.Problem{{Namespace: "a", Name: "b", Reason: "no"}}}
	tests := map[string]struct {
		reason  string
		engine  fake
		options Options
		runs    int
		after   []time.Duration
		events  []string
		pending float64
	}{
		"Absent":     {"no definition, nothing to do", fake{}, Options{}, 0, []time.Duration{0}, nil, 0},
		"NothingDue": {"quiet", fake{status: &migration.Status{CRD: crd}}, Options{}, 0, []time.Duration{0}, nil, 0},
		"Complete":   {"one event at the end", fake{status: due, report: complete}, Options{}, 1, []time.Duration{0}, []string{"Normal Migrated All objects are stored as v1; 3 were rewritten"}, 0},
		"Refused": {
			"later and later, and one event", fake{status: due, report: incomplete}, Options{}, 3,
			[]time.Duration{30 * time.Second, time.Minute, 2 * time.Minute},
			[]string{"Warning MigrationIncomplete 1 of 3 objects could not be migrated to v1: a/b: no"}, 1,
		},
		"Error": {"the same", fake{status: due, err: errors.New("boom")}, Options{}, 2, []time.Duration{30 * time.Second, time.Minute}, nil, 1},
		"ReportOnly": {
			"told, once", fake{status: due}, Options{ReportOnly: true}, 0, []time.Duration{0, 0},
			[]string{"Warning MigrationPending A migration is due, and --auto-migrate is off: objects may be stored in v1alpha1"}, 1,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pending.Reset()
			r, recorder := newReconciler(&tc.engine, tc.options)
			for i, want := range tc.after {
				got, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: crd}})
				if err != nil || got.RequeueAfter != want {
					t.Errorf("%s: pass %d: %v, %v, want %s", tc.reason, i, got, err, want)
				}
			}
			if tc.engine.runs != tc.runs {
				t.Errorf("%d runs, want %d", tc.engine.runs, tc.runs)
			}
			if diff := cmp.Diff(tc.events, drain(recorder)); diff != "" {
				t.Errorf("events -want, +got:\n%s", diff)
			}
			if got := testutil.ToFloat64(pending.WithLabelValues(crd)); got != tc.pending {
				t.Errorf("pending %v, want %v", got, tc.pending)
			}
		})
	}
}

// A replica that does not lead any more says nothing.
func TestReconcileStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	engine := &fake{status: &migration.Status{CRD: crd, Pending: true}, err: context.Canceled}
	r, recorder := newReconciler(engine, Options{})
	result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Name: crd}})
	if err != nil || result.RequeueAfter != 0 || len(drain(recorder)) > 0 {
		t.Errorf("%v, %v", result, err)
	}
}

// M-12: progress shows in metrics, and in one event for each phase.
func TestObserve(t *testing.T) {
	r, recorder := newReconciler(&fake{}, Options{})
	for _, p := range []migration.Progress{
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the webhook"},
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the webhook"},
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the definition to be 1m0s old: 59s left"},
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the definition to be 1m0s old: 1.5s left"},
		{CRD: crd, Phase: migration.PhaseRewriting, Done: 1, Total: 10},
		{CRD: crd, Phase: migration.PhaseRewriting, Done: 2, Total: 10, Refused: 1},
		{CRD: crd, Phase: migration.PhaseVerifying, Done: 10, Total: 10},
	} {
		r.observe(p)
	}
	want := []string{
		"Normal MigrationProgress Waiting for the webhook",
		"Normal MigrationProgress Waiting for the definition to be 1m0s old: 59s left",
		"Normal MigrationProgress Rewriting the stored objects",
		"Normal MigrationProgress Verifying that every object is in the storage version",
	}
	if diff := cmp.Diff(want, drain(recorder)); diff != "" {
		t.Errorf("events -want, +got:\n%s", diff)
	}
	for got, want := range map[float64]float64{
		testutil.ToFloat64(done.WithLabelValues(crd, "Rewriting")):  2,
		testutil.ToFloat64(total.WithLabelValues(crd, "Verifying")): 10,
		testutil.ToFloat64(waiting.WithLabelValues(crd)):            0,
	} {
		if got != want {
			t.Errorf("metric is %v, want %v", got, want)
		}
	}
}

func drain(recorder *events.FakeRecorder) []string {
	var all []string
	for {
		select {
		case e := <-recorder.Events:
			all = append(all, strings.TrimSpace(e))
		default:
			return all
		}
	}
}
