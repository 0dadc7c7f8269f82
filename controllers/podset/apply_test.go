package podset

import (
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestSlowStart covers P-05: a refusal ends the attempt after the batch it is in.
func TestSlowStart(t *testing.T) {
	conflict := apierrors.NewConflict(podResource, "x", errors.New("faster"))
	cases := map[string]struct {
		reason string
		n      int
		answer func(i int) error
		calls  int
	}{
		"none":            {"no call", 0, nil, 0},
		"all succeed":     {"all calls", 10, func(int) error { return nil }, 10},
		"first refused":   {"one call", 500, func(int) error { return errors.New("no") }, 1},
		"third refused":   {"one, then two", 500, func(i int) error { return when(i == 2, errors.New("no")) }, 3},
		"fourth refused":  {"one, two, four", 500, func(i int) error { return when(i == 3, errors.New("no")) }, 7},
		"last of a batch": {"1+2+4+3", 10, func(i int) error { return when(i == 9, errors.New("no")) }, 10},
		"lost races":      {"they say nothing about the next call", 10, func(int) error { return conflict }, 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			errs := slowStart(4, c.n, func(i int) error {
				calls.Add(1)
				return c.answer(i)
			})
			if int(calls.Load()) != c.calls || len(errs) != c.calls {
				t.Errorf("%d calls, %d answers, want %d: %s", calls.Load(), len(errs), c.calls, c.reason)
			}
			for i, err := range errs {
				if want := c.answer(i); !errors.Is(err, want) && err.Error() != want.Error() {
					t.Errorf("answer %d is %v, want %v", i, err, want)
				}
			}
		})
	}
}

func when(is bool, err error) error {
	if is {
		return err
	}
	return nil
}

// TestRefused tells answers that a user must hear about from trouble that passes.
func TestRefused(t *testing.T) {
	status := func(code int32) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: "denied"}}
	}
	cases := map[string]struct {
		err  error
		want bool
	}{
		"quota":            {apierrors.NewForbidden(podResource, "x", errors.New("exceeded quota")), true},
		"invalid":          {status(http.StatusUnprocessableEntity), true},
		"webhook denial":   {status(http.StatusBadRequest), true},
		"odd denial":       {status(http.StatusTeapot), true},
		"webhook down":     {apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"labels removed":   {fmt.Errorf("wrapped: %w", errLabelsRemoved), true},
		"conflict":         {status(http.StatusConflict), false},
		"too many":         {status(http.StatusTooManyRequests), false},
		"not found":        {status(http.StatusNotFound), false},
		"bad credentials":  {status(http.StatusUnauthorized), false},
		"timeout":          {status(http.StatusGatewayTimeout), false},
		"unavailable":      {status(http.StatusServiceUnavailable), false},
		"connection reset": {errors.New("connection reset"), false},
	}
	for name, c := range cases {
		if got := refused(c.err); got != c.want {
			t.Errorf("%s: refused %t, want %t", name, got, c.want)
		}
	}
}

// TestStableMessage: the same cause gives the same text, so that the status is written once.
func TestStableMessage(t *testing.T) {
	cases := map[string]struct{ err, want string }{
		"quota": {
			`pods "web-pod-abcde" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`,
			`A Pod is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2.`,
		},
		"invalid": {`Pod "web-pod-abcde" is invalid: spec.x: Required value`, `A Pod is invalid: spec.x: Required value.`},
		"webhook": {
			`admission webhook "w.example.net" denied the request: web-pod-abcde is not welcome.`,
			`admission webhook "w.example.net" denied the request: web-pod-* is not welcome.`,
		},
	}
	for name, c := range cases {
		if got := stableMessage(errors.New(c.err), "web", "web-pod-abcde"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestRecordCreation says what each answer to a creation leaves behind.
func TestRecordCreation(t *testing.T) {
	terminating := apierrors.NewForbidden(podResource, "x", errors.New("namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	type after struct {
		Expected, Unanswered, Refused, Stale, Failed, Terminating bool
	}
	cases := map[string]struct {
		reason string
		err    error
		want   after
	}{
		"created":      {"the cache must show it", nil, after{Expected: true}},
		"timeout":      {"P-04: asked again under the same name", errors.New("timeout"), after{Unanswered: true, Failed: true}},
		"name taken":   {"P-04: another name", errNameTaken, after{Stale: true}},
		"quota":        {"P-05", apierrors.NewForbidden(podResource, "x", errors.New("exceeded quota")), after{Refused: true}},
		"quota race":   {"the next attempt will do", apierrors.NewConflict(podResource, "x", errors.New("quota changed")), after{Stale: true}},
		"overload":     {"the next attempt will do", apierrors.NewTooManyRequests("busy", 1), after{Stale: true}},
		"webhook down": {"it may have been stored", apierrors.NewInternalError(errors.New("webhook")), after{Refused: true, Unanswered: true}},
		"namespace":    {"P-17: never again", terminating, after{Terminating: true}},
		"no namespace": {"P-17: never again", apierrors.NewNotFound(podResource, "x"), after{Terminating: true}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newApplier()
			a.recordCreation(pod("x"), c.err)
			got := after{
				Expected: len(a.known.expected) == 1, Unanswered: a.known.unanswered.Has("x"), Refused: a.known.refusal != nil,
				Stale: a.out.stale, Failed: a.out.err != nil, Terminating: a.known.namespaceTerminating,
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}

func newApplier() *applier {
	o := observed()
	known := (&records{byKey: map[types.NamespacedName]*record{}}).of(o.podSet)
	return &applier{r: &Reconciler{clock: testingclock.NewFakePassiveClock(epoch), alive: newAlivePods()}, o: o, known: known}
}

// TestRefusalsInARow: pauses grow while nothing works, and begin anew with a new spec or after a success.
func TestRefusalsInARow(t *testing.T) {
	quota := apierrors.NewForbidden(podResource, "x", errors.New("exceeded quota"))
	cases := map[string]struct {
		reason     string
		last       *refusal
		created    int
		count      int
		retryAfter time.Duration
	}{
		"first":         {"a second", nil, 0, 1, time.Second},
		"fourth":        {"eight seconds", &refusal{generation: 4, count: 3}, 0, 4, 8 * time.Second},
		"after success": {"something worked", &refusal{generation: 4, count: 3}, 1, 1, time.Second},
		"new spec":      {"another generation", &refusal{generation: 3, count: 3}, 0, 1, time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			a := newApplier()
			a.last, a.out.created = c.last, c.created
			a.refuse(reasonFailedCreate, "x", quota)
			a.refuse(reasonFailedCreate, "y", quota)
			got := a.known.refusal
			if got.count != c.count || !got.retryAt.Equal(epoch.Add(c.retryAfter)) {
				t.Errorf("count %d, retry at %v: %s", got.count, got.retryAt, c.reason)
			}
		})
	}
}

// TestTemplate covers P-01: what every Pod of ours carries.
func TestTemplate(t *testing.T) {
	seen := observed(spec(func(s *batchv1.PodSetSpec) { s.PodLabels = map[string]string{"team": "a", "podset-name": "other"} }))
	got, err := template(seen)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"team": "a", "podset-name": "web", workloadv1.LabelManagedBy: workloadv1.ManagedBy, batchv1.LabelRevision: "s1-i1",
	}
	if diff := cmp.Diff(want, got.Labels); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if !findable(got, seen.podSet) || !ownedBy(got, seen.podSet) || got.Namespace != "ns" {
		t.Errorf("not ours: %+v", got.ObjectMeta)
	}
}

// TestPodSetOf says whom an event of a Pod wakes.
func TestPodSetOf(t *testing.T) {
	owned := func(apiVersion, kind, name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u", Controller: new(true)}}
		}
	}
	cases := map[string]struct {
		pod   *corev1.Pod
		name  string
		claim []string
	}{
		"ours":          {pod("a", owned("batch.example.com/v1", "PodSet", "web")), "web", []string{"owned/u"}},
		"old version":   {pod("a", owned("batch.example.com/v1alpha1", "PodSet", "web")), "web", []string{"owned/u"}},
		"other kind":    {pod("a", owned("apps/v1", "ReplicaSet", "web")), "", nil},
		"other group":   {pod("a", owned("example.net/v1", "PodSet", "web")), "", nil},
		"orphan":        {pod("a"), "web", []string{"orphan/web"}},
		"nobody's":      {pod("a", func(p *corev1.Pod) { p.Labels = nil }), "", nil},
		"a plain owner": {pod("a", owned("apps/v1", "X", "y"), func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }), "web", []string{"orphan/web"}},
	}
	for name, c := range cases {
		if got := podSetOf(c.pod); got != c.name {
			t.Errorf("%s: wakes %q, want %q", name, got, c.name)
		}
		if diff := cmp.Diff(c.claim, claimsOn(c.pod)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}
