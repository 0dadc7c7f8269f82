package certs

import (
	"crypto/x509"
	"time"
)

// Step is one change to the Secret. A replacement of the authority takes three of them, so that old and new are both
// trusted before, while and after the serving certificate changes: PublishAuthority, SwitchLeaf, DropAuthorities.
type Step string

// Steps.
const (
	// StepNone leaves the Secret alone.
	StepNone Step = ""
	// StepReplace makes everything new. Nothing could be served, so there is nothing to overlap with.
	StepReplace Step = "Replace"
	// StepRestore writes back what this replica still serves, without the key of the authority: a Secret that was deleted or
	// damaged may have been so because a key leaked, so the authority is then replaced, with the usual overlap.
	StepRestore Step = "Restore"
	// StepPublishAuthority adds a new authority to the bundle. The old certificate is served on.
	StepPublishAuthority Step = "PublishAuthority"
	// StepSwitchLeaf signs the serving certificate with the new authority.
	StepSwitchLeaf Step = "SwitchLeaf"
	// StepRenewLeaf signs a new serving certificate with the same authority.
	StepRenewLeaf Step = "RenewLeaf"
	// StepDropAuthorities removes from the bundle every authority except the one that signs.
	StepDropAuthorities Step = "DropAuthorities"
)

// Lifetimes are the durations of a self-managed certificate. A third of a life before its end the next one is made.
type Lifetimes struct {
	// Authority is the life of an authority. Replacing one changes the CustomResourceDefinitions twice, and each change makes
	// the API server rebuild its caches, so it is long: 10 years by default.
	Authority time.Duration
	// Leaf is the life of a serving certificate. Renewing one changes nothing but the Secret: 90 days by default.
	Leaf time.Duration
	// Settle is how long a change must have been in place before the next step relies on it: API servers and other replicas
	// follow by watches, which may be late. 5 minutes by default.
	Settle time.Duration
}

// Observation is all that a decision about the Secret depends on.
type Observation struct {
	// secret is what the Secret holds, nil when there is none.
	secret *material
	// serving is what this replica serves, nil before the first time.
	serving *material
	// names are the DNS names that the certificate must be good for.
	names []string
	// published says that every target holds exactly the bundle of the Secret.
	published bool
	// secretTrusted and servingTrusted say that every target vouches for the certificate of the Secret, or for what is served.
	secretTrusted, servingTrusted bool
	// bundlesSince is since when this replica has seen the targets with the bundles that they hold.
	bundlesSince time.Time
	// now is the time of the decision.
	now time.Time
}

// Decision is what to do with the Secret now, and when to ask again at the latest.
type Decision struct {
	Step  Step
	Again time.Duration
}

// rule is one line of the plan. The second result is false when the rule has nothing to say.
type rule func(o Observation, l Lifetimes) (Decision, bool)

// rules in order of urgency: the first that applies wins.
var rules = []rule{unservable, authorityDue, switchDue, leafDue, dropDue}

// longest is the most that passes between two looks at an unchanged Secret.
const longest = time.Hour

// plan decides on the next step of a self-managed certificate.
func plan(o Observation, l Lifetimes) Decision {
	for _, r := range rules {
		if d, applies := r(o, l); applies {
			return d
		}
	}
	return Decision{Again: min(longest, untilDue(o.secret.leaf(), o.now), untilDue(o.secret.signer, o.now))}
}

// unservable applies to a Secret that is missing, or that holds nothing that can be served.
func unservable(o Observation, _ Lifetimes) (Decision, bool) {
	if o.secret != nil && judge(o.secret, o.names, o.now) == nil {
		return Decision{}, false
	}
	switch {
	case o.secret != nil && o.secret.signer != nil && untilDue(o.secret.signer, o.now) > 0:
		return Decision{Step: StepRenewLeaf}, true
	case o.serving != nil && judge(o.serving, o.names, o.now) == nil:
		return Decision{Step: StepRestore}, true
	}
	return Decision{Step: StepReplace}, true
}

// authorityDue applies when the Secret can sign nothing, or only with an authority in the last third of its life.
func authorityDue(o Observation, _ Lifetimes) (Decision, bool) {
	if o.secret.signer != nil && untilDue(o.secret.signer, o.now) > 0 {
		return Decision{}, false
	}
	return Decision{Step: StepPublishAuthority}, true
}

// switchDue applies while the serving certificate is from an older authority than the one that signs.
func switchDue(o Observation, l Lifetimes) (Decision, bool) {
	if o.secret.issuer().Equal(o.secret.signer) {
		return Decision{}, false
	}
	if !o.published {
		// The change of a target wakes us.
		return Decision{Again: longest}, true
	}
	// Publishing may have taken long; API servers learn of it only then.
	if wait := max(untilSettled(o.secret.signer, o.now, l), o.bundlesSince.Add(l.Settle).Sub(o.now)); wait > 0 {
		return Decision{Again: wait}, true
	}
	return Decision{Step: StepSwitchLeaf}, true
}

// leafDue applies to a serving certificate in the last third of its life.
func leafDue(o Observation, _ Lifetimes) (Decision, bool) {
	if untilDue(o.secret.leaf(), o.now) > 0 {
		return Decision{}, false
	}
	return Decision{Step: StepRenewLeaf}, true
}

// dropDue applies while authorities are trusted that sign nothing any more.
func dropDue(o Observation, l Lifetimes) (Decision, bool) {
	if len(o.secret.bundle) == 1 {
		return Decision{}, false
	}
	if wait := untilSettled(o.secret.leaf(), o.now, l); wait > 0 {
		return Decision{Again: wait}, true
	}
	return Decision{Step: StepDropAuthorities}, true
}

// untilDue is the time left until two thirds of a certificate's life are over; not positive when they are.
func untilDue(certificate *x509.Certificate, now time.Time) time.Duration {
	life := certificate.NotAfter.Sub(issuedAt(certificate))
	return certificate.NotAfter.Add(-life / 3).Sub(now)
}

// untilSettled is the time left until a certificate of ours has been out for the settling time.
func untilSettled(certificate *x509.Certificate, now time.Time, l Lifetimes) time.Duration {
	return issuedAt(certificate).Add(l.Settle).Sub(now)
}

// issuedAt is the moment at which a certificate of ours was made.
func issuedAt(certificate *x509.Certificate) time.Time {
	return certificate.NotBefore.Add(backdate)
}
