package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// await blocks until everything holds that must before the first write, and tells meanwhile what is missing. It sets the
// definition of the run.
func (r *run) await(ctx context.Context) error {
	missing := errors.New("the API server")
	lacking := denial{}
	since := map[int64]time.Time{} // when a generation was seen for the first time
	err := wait.PollUntilContextCancel(ctx, r.options.Poll, true, func(ctx context.Context) (bool, error) {
		d, err := r.read(ctx, r.report.CRD)
		if err == nil {
			if since[d.Generation].IsZero() {
				since[d.Generation] = time.Now()
			}
			r.adopt(d)
			if err = r.answers(ctx, d, d.target()); err == nil {
				err = r.settled(d, since[d.Generation])
			}
		}
		switch {
		case err == nil:
			return true, nil
		case final(err), lacking.lasts(err):
			return false, err
		case !r.ending(ctx):
			missing = err
			r.wait(err)
		}
		return false, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("waiting for %s: %w", oneLine(missing), err)
	}
	return err
}

// ending says that the context ends before the next look. What fails now, fails for that reason.
func (e *Engine) ending(ctx context.Context) bool {
	deadline, limited := ctx.Deadline()
	return ctx.Err() != nil || limited && time.Until(deadline) < e.options.Poll
}

// final are errors that waiting does not cure.
func final(err error) bool {
	return errors.Is(err, errMoved) || apierrors.IsNotFound(err)
}

// answers says why objects cannot be read in all served versions, nil when they can. An object is read in each of them, past
// the caches of the API server: it is stored in one of them at most, so the others are proof that the webhook answers, through
// the Service, as the API server calls it. Without any object there is nothing to convert.
func (e *Engine) answers(ctx context.Context, d definition, target string) error {
	if err := d.usable(); err != nil {
		return err
	}
	if err := e.options.Ready(ctx); err != nil {
		return err
	}
	sample, err := e.metadata.Resource(d.resource(target)).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("listing %s: %w", d.resource(target).GroupResource(), passing(err))
	}
	for _, item := range sample.Items {
		for _, version := range append([]string{target}, d.others(target)...) {
			resource := e.metadata.Resource(d.resource(version))
			_, err := resource.Namespace(item.Namespace).Get(ctx, item.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				_, err = resource.List(ctx, metav1.ListOptions{Limit: 1}) // the object is gone, or the version is not there yet
			}
			if err != nil {
				return fmt.Errorf("reading %s/%s in version %s: %w", item.Namespace, item.Name, version, passing(err))
			}
		}
	}
	return nil
}

// passing makes an error one that waiting may cure: a resource is not found while an API server takes its definition in.
func passing(err error) error {
	if apierrors.IsNotFound(err) {
		return errors.New(err.Error())
	}
	return err
}

// settled says for how long the definition must be left alone before it is certain that nothing writes the former storage
// version, nil when that time is over. seen is when this generation was seen for the first time.
func (e *Engine) settled(d definition, seen time.Time) error {
	if changed, known := d.changed(); known && changed.Before(seen) {
		seen = changed
	}
	left := e.options.SettleDelay - time.Since(seen)
	if left <= 0 {
		return nil
	}
	return fmt.Errorf("the latest change of the definition to be %s old, since API servers may write the former version until then: %s left",
		e.options.SettleDelay, left.Round(time.Second))
}
