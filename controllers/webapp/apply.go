package webapp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// noVersion is a resourceVersion that no object can have: etcd counts writes from 2 on. An apply that requires it creates
// the object or fails with a conflict, so it can never take over an object that appeared meanwhile. The API server
// compares the version of an existing object and ignores the field when it creates one.
const noVersion = "1"

// change is a write that happened.
type change struct {
	verb  verb
	child *corev1.ObjectReference
}

// outcome is what became of a plan.
type outcome struct {
	changes  []change
	problems []problem

	// retry is when to try again, if somebody else has to act first or did so at the same time; zero means never.
	retry time.Duration

	// raced is true when somebody else wrote a child at the same time: it is not as the spec asks, and what was observed of it is old.
	raced bool

	// abandoned is true when the namespace goes, and with it everything.
	abandoned bool

	// err is what the workqueue must retry with growing delays.
	err error
}

// apply carries a plan out. A step that fails does not keep the others from being tried.
func (r *Reconciler) apply(ctx context.Context, w *appv1.WebApp, todo plan) outcome {
	done := outcome{problems: todo.problems}
	for _, s := range todo.steps {
		err := r.perform(ctx, w, s)
		if err == nil {
			log.FromContext(ctx).Info("Changed a child", "verb", s.verb, "kind", s.kind, "name", s.name)
			done.changes = append(done.changes, change{s.verb, s.reference(w.Namespace)})
			continue
		}
		done.judge(s, err)
		if done.abandoned {
			return done
		}
	}
	for _, p := range done.problems {
		switch p.reason {
		case workloadv1.ReasonNotOwned:
			done.retry = soonest(done.retry, notOwnedDelay)
		case appv1.ReasonNameTaken:
			done.retry = soonest(done.retry, leavingDelay)
		}
	}
	return done
}

// takenError says that the name of a child belongs to somebody else's object.
type takenError struct{ live client.Object }

func (e *takenError) Error() string { return "the name is taken by an object of somebody else" }

// judge sorts a failure by who has to act: the user, time, or nobody.
func (d *outcome) judge(s step, err error) {
	var taken *takenError
	switch {
	case errors.As(err, &taken):
		d.problems = append(d.problems, notOwned(s.kind, taken.live))
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), namespaceGone(err):
		d.abandoned = true
	case apierrors.IsConflict(err), uidChanged(err):
		d.raced, d.retry = true, soonest(d.retry, conflictDelay)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		d.problems = append(d.problems, problem{workloadv1.ReasonInvalidSpec, refusal(s, err)})
	default:
		if apierrors.IsForbidden(err) {
			d.problems = append(d.problems, problem{appv1.ReasonApplyFailed, refusal(s, err)})
		} else {
			d.problems = append(d.problems, problem{appv1.ReasonApplyFailed,
				fmt.Sprintf("The %s %s could not be written. It is tried again.", s.kind, s.name)})
		}
		d.err = errors.Join(d.err, fmt.Errorf("%s %s %s: %w", s.verb, s.kind, s.name, err))
	}
}

func refusal(s step, err error) string {
	return fmt.Sprintf("The cluster refused the %s %s: %s.", s.kind, s.name, strings.TrimSuffix(err.Error(), "."))
}

func namespaceGone(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Kind == "namespaces"
}

// uidChanged recognises how the API server answers an apply to an object that was deleted and created anew.
func uidChanged(err error) bool {
	cause, found := apierrors.StatusCause(err, metav1.CauseTypeFieldValueInvalid)
	return apierrors.IsInvalid(err) && found && cause.Field == "metadata.uid"
}

// perform does one step. Every write carries a precondition, so that it meets the object it was planned for.
func (r *Reconciler) perform(ctx context.Context, w *appv1.WebApp, s step) error {
	switch s.verb {
	case create:
		err := r.send(ctx, s)
		if !apierrors.IsConflict(err) {
			return err
		}
		return r.meet(ctx, w, s)
	case adopt:
		return r.adopt(ctx, w, s, s.live)
	case update:
		s.require(s.live.GetUID(), s.live.GetResourceVersion())
		err := r.send(ctx, s)
		if portsClash(err) {
			return r.replacePorts(ctx, s)
		}
		return err
	case remove:
		uid, version := s.live.GetUID(), s.live.GetResourceVersion()
		err := r.client.Delete(ctx, s.live, client.Preconditions{UID: &uid, ResourceVersion: &version})
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("unknown step %q", s.verb)
}

func (r *Reconciler) send(ctx context.Context, s step) error {
	return r.client.Apply(ctx, s.config, client.FieldOwner(workloadv1.FieldManager), client.ForceOwnership)
}

// meet is called when a child exists that the cache does not show: it is somebody else's, or it lost the label that the
// cache selects by, or the cache is late.
func (r *Reconciler) meet(ctx context.Context, w *appv1.WebApp, s step) error {
	live := s.blank
	if err := r.live.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: s.name}, live); apierrors.IsNotFound(err) {
		return raceLost(w, "the %s %s has just been deleted", s.kind, s.name)
	} else if err != nil {
		return err
	}
	switch {
	case live.GetDeletionTimestamp() != nil:
		return &takenError{live}
	case metav1.IsControlledBy(live, w):
		s.require(live.GetUID(), live.GetResourceVersion())
		return r.send(ctx, s)
	case adoptable(live, w):
		return r.adopt(ctx, w, s, live)
	}
	return &takenError{live}
}

// adopt takes an orphan over, after a live read: the cache may not know yet that the WebApp is being deleted with
// cascade=orphan, and an orphan that it took back would be deleted along with it.
func (r *Reconciler) adopt(ctx context.Context, w *appv1.WebApp, s step, live client.Object) error {
	fresh := &appv1.WebApp{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(w), fresh); client.IgnoreNotFound(err) != nil {
		return err
	}
	if fresh.UID != w.UID || fresh.DeletionTimestamp != nil {
		return raceLost(w, "the WebApp is being deleted")
	}
	s.require(live.GetUID(), live.GetResourceVersion())
	return r.send(ctx, s)
}

// raceLost is the conflict of a pass that was planned on what no longer holds.
func raceLost(w *appv1.WebApp, format string, arguments ...any) error {
	return apierrors.NewConflict(appv1.GroupVersion.WithResource("webapps").GroupResource(), w.Name, fmt.Errorf(format, arguments...))
}
