package migration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ofTheAuthorizer is what the API server says to a user without the right.
const ofTheAuthorizer = `User "operator" cannot patch resource "webapps" in API group "app.example.com"`

var (
	resource = schema.GroupResource{Group: group, Resource: "webapps"}
	broken   = apierrors.NewInternalError(errors.New("failed calling webhook"))
	refusal  = apierrors.NewForbidden(resource, "x", errors.New("frozen"))
	noRole   = apierrors.NewForbidden(resource, "x", fmt.Errorf("%s", ofTheAuthorizer))
)

// A request that fails is tried again: for as long as an outage lasts, and a few times otherwise.
func TestGate(t *testing.T) {
	tests := map[string]struct {
		reason  string
		request []error // the last one is repeated
		check   []error // likewise
		want    error
		calls   int
		waits   int
	}{
		"Works":      {"once", []error{nil}, []error{nil}, nil, 1, 0},
		"Refused":    {"an answer about the object is an answer", []error{refusal}, []error{nil}, refusal, 1, 0},
		"Hiccup":     {"tried again", []error{broken, &net.OpError{Op: "dial", Err: errors.New("refused")}, nil}, []error{nil}, nil, 3, 0},
		"BadObject":  {"everything else works, so it is the object", []error{broken}, []error{nil}, broken, tries, 0},
		"Outage":     {"nobody is blamed, however long it takes", []error{broken, broken, nil}, []error{broken, broken, broken, broken, broken, broken, broken, nil}, nil, 3, 7},
		"GaveUp":     {"the storage version moved", []error{broken}, []error{errMoved}, errMoved, 1, 0},
		"Starting":   {"an API server that starts does not know its roles yet", []error{noRole, nil}, []error{noRole, noRole, nil}, nil, 2, 2},
		"NoRole":     {"only the write is not allowed", []error{noRole}, []error{nil}, noRole, tries, 0},
		"NoRoles":    {"nothing is allowed for long", []error{noRole}, []error{noRole}, noRole, 1, 16},
		"OverLoaded": {"throttled", []error{apierrors.NewTooManyRequests("slow down", 1), nil}, []error{nil}, nil, 2, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls, waits := 0, 0
				g := &gate{poll: time.Second, waiting: func(error) { waits++ }, check: script(tc.check)}
				request := script(tc.request)
				err := g.do(t.Context(), func(ctx context.Context) error {
					calls++
					return request(ctx)
				})
				if !errors.Is(err, tc.want) || calls != tc.calls || waits != tc.waits {
					t.Errorf("%s: %v after %d calls and %d waits, want %v, %d, %d", tc.reason, err, calls, waits, tc.want, tc.calls, tc.waits)
				}
			})
		})
	}
}

// script returns one error after the other, and the last one for ever.
func script(answers []error) func(context.Context) error {
	return func(context.Context) error {
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return answer
	}
}

func TestGateEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := &gate{poll: time.Hour, waiting: func(error) { cancel() }, check: script([]error{broken})}
	if err := g.do(ctx, script([]error{broken})); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestEstimate(t *testing.T) {
	for name, tc := range map[string]struct {
		done, total int
		elapsed     time.Duration
		want        time.Duration
	}{
		"Nothing": {0, 10, time.Second, 0},
		"Unknown": {5, 0, time.Second, 0},
		"Half":    {50, 100, time.Minute, time.Minute},
		"End":     {100, 100, time.Minute, 0},
	} {
		if got := estimate(tc.done, tc.total, tc.elapsed); got != tc.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
