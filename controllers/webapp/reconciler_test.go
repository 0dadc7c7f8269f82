package webapp

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// stage is a reconciler whose writes all have a given answer.
type stage struct {
	reconciler *Reconciler
	cache      client.Client
	recorder   *events.FakeRecorder
	writes     []string
	applied    error // the answer to every apply
	patched    error // the answer to every write of the status
}

func newStage(t *testing.T, live client.Object, cached ...client.Object) *stage {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appv1.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	s := &stage{recorder: events.NewFakeRecorder(10)}
	s.cache = fake.NewClientBuilder().WithScheme(known).WithObjects(cached...).WithStatusSubresource(&appv1.WebApp{}).
		WithReturnManagedFields().WithInterceptorFuncs(interceptor.Funcs{
		Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
			s.writes = append(s.writes, "apply")
			return s.applied
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			s.writes = append(s.writes, "status")
			if s.patched != nil {
				return s.patched
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}).Build()
	api := fake.NewClientBuilder().WithScheme(known)
	if live != nil {
		api.WithObjects(live)
	}
	s.reconciler = &Reconciler{client: s.cache, live: api.Build(), recorder: s.recorder, now: func() time.Time { return noon }}
	return s
}

func (s *stage) reconcile(t *testing.T) (ctrl.Result, error) {
	t.Helper()
	return s.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "my-app"}})
}

func (s *stage) webApp(t *testing.T) *appv1.WebApp {
	t.Helper()
	w := &appv1.WebApp{}
	if err := s.cache.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "my-app"}, w); err != nil {
		t.Fatal(err)
	}
	return w
}

func (s *stage) expectWrites(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.writes); diff != "" {
		t.Errorf("writes (-want, +got):\n%s", diff)
	}
}

// expectEvent takes the next event; an empty want means that there is none.
func (s *stage) expectEvent(t *testing.T, want string) {
	t.Helper()
	got := ""
	select {
	case got = <-s.recorder.Events:
	default:
	}
	if got != want {
		t.Errorf("event %q, want %q", got, want)
	}
}

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// TestRefusedByNamespace is W-18: one refusal is enough, whatever happens around the WebApp after it.
func TestRefusedByNamespace(t *testing.T) {
	refusal := apierrors.NewForbidden(deployments, "x", errors.New("no"))
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	s := newStage(t, nil, stored())
	s.applied = refusal
	for range 3 {
		if result, err := s.reconcile(t); err != nil || result.RequeueAfter != 0 {
			t.Errorf("it is tried again: %v, %v", result, err)
		}
	}
	s.expectWrites(t, "apply")
	s.expectEvent(t, "")

	// The same name with another UID is another WebApp, in another namespace of the same name.
	if err := s.cache.Delete(t.Context(), stored()); err != nil {
		t.Fatal(err)
	}
	next := stored(func(w *appv1.WebApp) { w.UID = "another" })
	if err := s.cache.Create(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if _, err := s.reconcile(t); err != nil {
		t.Error(err)
	}
	s.expectWrites(t, "apply", "apply")
}

// TestFailureIsReported is W-20: the status speaks of the generation although the work failed, and the work is retried.
func TestFailureIsReported(t *testing.T) {
	s := newStage(t, nil, stored())
	s.applied = errors.New("connection refused")
	if _, err := s.reconcile(t); !errors.Is(err, s.applied) {
		t.Errorf("the error is lost: %v", err)
	}
	s.expectWrites(t, "apply", "apply", "status")
	status := s.webApp(t).Status
	if status.ObservedGeneration != 4 || status.Phase != appv1.PhasePending || stateOf(status, workloadv1.ConditionReady) != "False" {
		t.Errorf("status %+v", status)
	}
}

// TestConflictIsQuiet checks that losing a race for a child is neither an error nor news, and that the status waits: the Deployment
// that the cache has is complete, but not what this generation asks for.
func TestConflictIsQuiet(t *testing.T) {
	w := stored(func(w *appv1.WebApp) { w.Spec.Image = "web:2" })
	o := settled(t, stored())
	s := newStage(t, nil, w, o.deployment, o.service)
	s.applied = apierrors.NewConflict(deployments, "x", errors.New("no"))
	result, err := s.reconcile(t)
	if err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("got %v, %v", result, err)
	}
	s.expectWrites(t, "apply")
	s.expectEvent(t, "")

	s.applied = nil
	s.patched = apierrors.NewConflict(schema.GroupResource{Resource: "webapps"}, "x", errors.New("no"))
	result, err = s.reconcile(t)
	if err != nil || result.RequeueAfter != conflictDelay {
		t.Errorf("a conflict of the status: %v, %v", result, err)
	}
	s.expectWrites(t, "apply", "apply", "status")
}

// TestNoAdoptionByTheDying: the cache does not know yet that the WebApp is being deleted with cascade=orphan.
func TestNoAdoptionByTheDying(t *testing.T) {
	dying := stored(func(w *appv1.WebApp) {
		w.DeletionTimestamp, w.Finalizers = new(metav1.NewTime(noon)), []string{metav1.FinalizerOrphanDependents}
	})
	another := stored(func(w *appv1.WebApp) { w.UID = "another" })
	for name, live := range map[string]client.Object{"dying": dying, "gone": nil, "replaced": another} {
		t.Run(name, func(t *testing.T) {
			o := settled(t, stored())
			o.deployment.OwnerReferences = nil
			s := newStage(t, live, stored(), o.deployment, o.service)
			if _, err := s.reconcile(t); err != nil {
				t.Error(err)
			}
			s.expectWrites(t)
		})
	}
	o := settled(t, stored())
	o.deployment.OwnerReferences = nil
	s := newStage(t, stored(), stored(), o.deployment, o.service)
	if _, err := s.reconcile(t); err != nil {
		t.Error(err)
	}
	s.expectWrites(t, "apply", "status")
}

// TestDeletedIsLeftAlone is W-17, without the cluster.
func TestDeletedIsLeftAlone(t *testing.T) {
	w := stored(func(w *appv1.WebApp) {
		w.DeletionTimestamp, w.Finalizers = new(metav1.NewTime(noon)), []string{metav1.FinalizerDeleteDependents}
	})
	s := newStage(t, nil, w)
	if result, err := s.reconcile(t); err != nil || result.RequeueAfter != 0 {
		t.Errorf("got %v, %v", result, err)
	}
	s.expectWrites(t)
}

// TestSecondPassWritesNothing is W-02, without the cluster.
func TestSecondPassWritesNothing(t *testing.T) {
	o := settled(t, stored())
	counts(3, 3, 3)(o.deployment)
	finished(o.deployment)
	s := newStage(t, nil, stored(), o.deployment, o.service)
	for range 3 {
		if result, err := s.reconcile(t); err != nil || result.RequeueAfter != 0 {
			t.Errorf("got %v, %v", result, err)
		}
	}
	s.expectWrites(t, "status")
	s.expectEvent(t, "Normal Running 3 of 3 Pods are available.")
	s.expectEvent(t, "")
}

// TestScalerMapping finds the WebApp by the name of its autoscaler, and by the Deployment that an autoscaler targets.
func TestScalerMapping(t *testing.T) {
	s := settled(t, stored(ask)).autoscaler
	got := fmt.Sprint(webAppsOfScaler(t.Context(), s))
	s.Name, s.Spec.ScaleTargetRef.Kind, s.Spec.ScaleTargetRef.Name = "theirs", "Deployment", "other-deploy"
	got += fmt.Sprint(webAppsOfScaler(t.Context(), s))
	s.Spec.ScaleTargetRef.APIVersion, s.Spec.ScaleTargetRef.Kind, s.Spec.ScaleTargetRef.Name = "app.example.com/v1alpha1", "WebApp", "third"
	got += fmt.Sprint(webAppsOfScaler(t.Context(), s))
	s.Spec.ScaleTargetRef.Kind, s.Spec.ScaleTargetRef.Name = "Deployment", "-deploy"
	got += fmt.Sprint(webAppsOfScaler(t.Context(), s), webAppsOfScaler(t.Context(), &appsv1.Deployment{}))
	if got != "[shop/my-app shop/my-app][shop/other][shop/third][] []" {
		t.Error(got)
	}
}
