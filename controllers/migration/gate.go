package migration

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// tries bounds the attempts at a request that fails while everything else works.
	tries = 5
	// firstPause is the pause after the first of them; it doubles.
	firstPause = 200 * time.Millisecond
	// fresh is for how long the answer to whether everything works is good.
	fresh = time.Second
	// roleGrace is how long an API server that starts may take to learn who may do what.
	roleGrace = 15 * time.Second
)

// gate tells an outage from a request that fails for reasons of its own. During an outage everybody waits, however long it
// takes: no object is blamed for it.
type gate struct {
	mu      sync.Mutex
	checked time.Time
	denial  denial
	// check says what is out of order, nil if everything works.
	check func(context.Context) error
	poll  time.Duration
	// waiting is told what is waited for.
	waiting func(error)
}

// pass returns once everything works, and says whether that took any waiting. The error is the context's, or one that waiting
// does not cure.
func (g *gate) pass(ctx context.Context) (waited bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for time.Since(g.checked) > fresh {
		err := g.check(ctx)
		switch {
		case ctx.Err() != nil:
			return waited, ctx.Err()
		case final(err), g.denial.lasts(err):
			return waited, err
		case err == nil:
			g.checked = time.Now()
			return waited, nil
		}
		waited = true
		g.waiting(err)
		if err := pause(ctx, g.poll); err != nil {
			return waited, err
		}
	}
	return waited, nil
}

// do makes a request, again while it fails for a reason that may pass. What it returns is the verdict about the request, unless
// the context has ended.
func (g *gate) do(ctx context.Context, request func(context.Context) error) error {
	delay := firstPause
	for try := 1; ; {
		err := request(ctx)
		if err == nil || ctx.Err() != nil || !transient(err) {
			return err
		}
		waited, gateErr := g.pass(ctx)
		switch {
		case gateErr != nil:
			return gateErr
		case waited:
			continue
		case try == tries:
			return err
		}
		try++
		if err := pause(ctx, delay); err != nil {
			return err
		}
		delay *= 2
	}
}

// transient are failures of the server or of the way to it, rather than answers about an object.
func transient(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= 500 || apierrors.IsTooManyRequests(err) || denied(err)
}

// denied are answers about who asks, not about an object: those of authentication, and of authorization, which alone names the user.
func denied(err error) bool {
	return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) && strings.Contains(err.Error(), `: User "`)
}

// denial remembers since when permission is lacking.
type denial struct{ since time.Time }

// lasts says that permission has been lacking for longer than an API server that starts may need.
func (d *denial) lasts(err error) bool {
	if !denied(err) {
		d.since = time.Time{}
		return false
	}
	if d.since.IsZero() {
		d.since = time.Now()
	}
	return time.Since(d.since) > roleGrace
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
