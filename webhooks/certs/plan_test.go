package certs

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlan(t *testing.T) {
	good, inRotation := base(t), rotating(t, epoch)
	switched := carryOut(t, StepSwitchLeaf, Observation{secret: decode(inRotation), names: names, now: epoch})
	broken := with(good, KeyCertificate, []byte("x"))
	tests := map[string]struct {
		reason    string
		secret    map[string][]byte
		serving   map[string][]byte
		published bool
		since, at time.Duration
		want      Decision
	}{
		"Fresh": {reason: "nothing until two thirds of the leaf's life",
			secret: good, want: Decision{Again: 40 * time.Minute}},
		"FreshUnpublished": {reason: "publishing needs no change of the Secret",
			secret: good, published: false, want: Decision{Again: 40 * time.Minute}},
		"MissingAtStart": {reason: "O-04: somebody has to make it",
			want: Decision{Step: StepReplace}},
		"MissingWhileServing": {reason: "what is served is written back, so no request fails",
			serving: good, want: Decision{Step: StepRestore}},
		"MissingServingExpired": {reason: "what cannot be served is not worth restoring",
			serving: good, at: 2 * time.Hour, want: Decision{Step: StepReplace}},
		"BrokenLeaf": {reason: "the authority is fine and trusted, so it signs again",
			secret: broken, serving: good, want: Decision{Step: StepRenewLeaf}},
		"BrokenBundle": {reason: "no authority left to sign with",
			secret: with(good, KeyBundle, []byte("\n")), serving: good, want: Decision{Step: StepRestore}},
		"BrokenBundleAtStart": {reason: "O-04",
			secret: with(good, KeyBundle, []byte("\n")), want: Decision{Step: StepReplace}},
		"ExpiredAtStart": {reason: "O-04: the authority still lives",
			secret: good, at: time.Hour + time.Minute, want: Decision{Step: StepRenewLeaf}},
		"AllExpiredAtStart": {reason: "O-04",
			secret: good, at: 4 * time.Hour, want: Decision{Step: StepReplace}},
		"ForeignUsable": {reason: "served as it is, and replaced by one of ours with an overlap",
			secret: foreign(t, names...), want: Decision{Step: StepPublishAuthority}},
		"ForeignUnusable": {reason: "made for another Service",
			secret: foreign(t, "other.ops.svc"), want: Decision{Step: StepReplace}},
		"LeafDue": {reason: "a third is left", secret: good, at: 40 * time.Minute, want: Decision{Step: StepRenewLeaf}},
		"AuthorityDue": {reason: "a third of the authority's life is left; the leaf waits for the new one",
			secret: carryOut(t, StepRenewLeaf, Observation{secret: decode(good), names: names, now: epoch.Add(110 * time.Minute)}),
			at:     2 * time.Hour, want: Decision{Step: StepPublishAuthority}},
		"AuthorityKeyGone": {reason: "removing ca.key asks for a new authority",
			secret: without(good, KeyAuthorityKey), want: Decision{Step: StepPublishAuthority}},
		"RotatingUnpublished": {reason: "O-01: never before it is trusted everywhere",
			secret: inRotation, published: false, at: time.Minute, want: Decision{Again: longest}},
		"RotatingUnsettled": {reason: "O-01: other API servers may be late",
			secret: inRotation, published: true, at: 50 * time.Second, want: Decision{Again: 10 * time.Second}},
		"RotatingSettled": {reason: "O-01",
			secret: inRotation, published: true, at: time.Minute, want: Decision{Step: StepSwitchLeaf}},
		"RotatingPublishedLate": {reason: "O-01: what counts is when the last target was written",
			secret: inRotation, published: true, since: 70 * time.Second, at: 80 * time.Second, want: Decision{Again: 50 * time.Second}},
		"SwitchedUnsettled": {reason: "O-01: other replicas may still serve the old leaf",
			secret: switched, published: true, at: 30 * time.Second, want: Decision{Again: 30 * time.Second}},
		"SwitchedSettled": {reason: "O-01",
			secret: switched, published: true, at: time.Minute, want: Decision{Step: StepDropAuthorities}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := Observation{names: names, published: tc.published, bundlesSince: epoch.Add(tc.since), now: epoch.Add(tc.at)}
			if tc.secret != nil {
				o.secret = decode(tc.secret)
			}
			if tc.serving != nil {
				o.serving = decode(tc.serving)
			}
			got := plan(o, short)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Fatalf("%s: plan: -want +got:\n%s", tc.reason, diff)
			}
			if got.Step == StepNone {
				return
			}
			after := decode(carryOut(t, got.Step, o))
			if v := judge(after, names, o.now); v != nil {
				t.Errorf("after %s the Secret cannot be served: %v", got.Step, v)
			}
			if count(after) > 2 {
				t.Errorf("after %s the bundle has %d authorities", got.Step, count(after))
			}
		})
	}
}

// A Secret that was deleted comes back with what is served, and then gets a new authority.
func TestRestoreLeadsToRotation(t *testing.T) {
	serving := decode(base(t))
	restored := decode(carryOut(t, StepRestore, Observation{serving: serving, names: names, now: epoch}))
	if !restored.leaf().Equal(serving.leaf()) {
		t.Error("another leaf was restored")
	}
	if got := plan(Observation{secret: restored, names: names, now: epoch}, short).Step; got != StepPublishAuthority {
		t.Errorf("plan after a restore = %q, want %q", got, StepPublishAuthority)
	}
}

// replica is a participant of the simulation that follows the Secret or its bundle some ticks late.
type replica struct {
	lag  int
	view *material
}

// O-01, for any timing: whatever each replica serves is trusted through each target, over many lives of authority and leaf.
func TestOverlapKeepsTrust(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	if err := simulate(t, rand.New(rand.NewPCG(seed, 0)), short, true); err != nil {
		t.Error(err)
	}
}

// Without the settling time, and without looking at the targets, the same simulation must fail: it would not notice otherwise.
func TestOverlapNeedsSettling(t *testing.T) {
	hasty := short
	hasty.Settle = 0
	if err := simulate(t, rand.New(rand.NewPCG(1, 1)), hasty, false); err == nil {
		t.Error("no request would have failed without an overlap, so the simulation proves nothing")
	}
}

func simulate(t *testing.T, random *rand.Rand, l Lifetimes, look bool) error {
	t.Helper()
	const tick = 10 * time.Second
	history := []*material{decode(base(t))}
	replicas, targets := []*replica{{}, {}, {}}, []*replica{{}, {}, {}}
	steps := map[Step]int{}
	for i := 1; i < 3600; i++ {
		now := epoch.Add(time.Duration(i) * tick)
		secret := history[len(history)-1]
		published := true
		for _, follower := range append(append([]*replica{}, replicas...), targets...) {
			// At most half the settling time late.
			follower.lag = min(follower.lag+1, random.IntN(4), len(history)-1)
			follower.view = history[len(history)-1-follower.lag]
		}
		for _, target := range targets {
			published = published && string(target.view.bundlePEM()) == string(secret.bundlePEM())
		}
		for _, r := range replicas {
			for _, target := range targets {
				if err := mustVerify(t, r.view, target.view.bundle, now); err != nil {
					return fmt.Errorf("after %s: %w", now.Sub(epoch), err)
				}
			}
		}
		o := Observation{secret: secret, serving: replicas[0].view, names: names, published: published || !look, now: now}
		if step := plan(o, l).Step; step != StepNone {
			data, err := issue(step, o, l)
			if err != nil {
				return err
			}
			steps[step]++
			secret = decode(data)
		}
		history = append(history, secret)
	}
	for _, step := range []Step{StepPublishAuthority, StepSwitchLeaf, StepDropAuthorities, StepRenewLeaf} {
		if steps[step] < 3 {
			return fmt.Errorf("step %s came %d times in the simulation: it proves too little", step, steps[step])
		}
	}
	if steps[StepReplace]+steps[StepRestore] > 0 {
		return fmt.Errorf("an orderly life needed an emergency: %v", steps)
	}
	return nil
}
