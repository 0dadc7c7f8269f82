package certs

import (
	"bytes"
	"crypto/x509"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trustDelay is how long a bundle must have been in place before a certificate that needs it is served: API servers follow by
// watches. It bounds how late a replica takes up a certificate of a new authority that others put into the Secret.
const trustDelay = 10 * time.Second

// takeUp decides whether this replica may go over to a servable Secret that others write, and if not yet, when to ask again.
//
// Whoever writes that Secret replaces authority and certificate at once. So the new authority is published beside the old one,
// and the certificate follows when every target has vouched for it for a while.
func takeUp(o Observation, l Lifetimes) (now bool, again time.Duration) {
	switch {
	case o.serving == nil, o.serving.leaf().Equal(o.secret.leaf()), judge(o.serving, o.names, o.now) != nil:
		return true, 0
	case o.secretTrusted && !o.servingTrusted:
		// The cainjector has been faster.
		return true, 0
	case !o.secretTrusted:
		// The change of a target wakes us.
		return false, longest
	}
	wait := o.bundlesSince.Add(min(trustDelay, l.Settle)).Sub(o.now)
	return wait <= 0, wait
}

// bundleOf is what the targets that we write should hold: the authorities of the Secret, and when others write that Secret, for
// a while, those that vouch for what replicas still serve. The result says when it will be less.
func bundleOf(mode Mode, o Observation, targets []client.Object, l Lifetimes) (bundle []byte, again time.Duration) {
	if o.secret == nil || len(o.secret.bundle) == 0 {
		return nil, longest
	}
	if !mode.follows() {
		return o.secret.bundlePEM(), longest
	}
	former := formerAuthorities(o, targets)
	if len(former) == 0 {
		return o.secret.bundlePEM(), longest
	}
	again = longest
	if o.serving != nil && o.serving.leaf().Equal(o.secret.leaf()) {
		// The other replicas have taken it up by then, too.
		again = o.bundlesSince.Add(min(trustDelay, l.Settle) + l.Settle).Sub(o.now)
	}
	if again <= 0 {
		return o.secret.bundlePEM(), longest
	}
	return append(o.secret.bundlePEM(), encodeCertificates(former...)...), again
}

// formerAuthorities are those that targets hold, or that vouch for what this replica serves, beside those of the Secret.
func formerAuthorities(o Observation, targets []client.Object) []*x509.Certificate {
	var former []*x509.Certificate
	seen := bytes.Clone(o.secret.bundlePEM())
	collect := func(authorities []*x509.Certificate) {
		for _, authority := range authorities {
			encoded := encodeCertificates(authority)
			if o.now.After(authority.NotAfter) || bytes.Contains(seen, encoded) {
				continue
			}
			seen = append(seen, encoded...)
			former = append(former, authority)
		}
	}
	for _, target := range targets {
		if injected(target) {
			continue
		}
		for _, s := range slots(target) {
			// What cannot be read vouches for nothing.
			authorities, _ := decodeBundle(s.bundle)
			collect(authorities)
		}
	}
	if o.serving != nil {
		collect(o.serving.bundle)
	}
	return former
}

// allVouch says that every target makes the API server accept the certificate.
func allVouch(targets []client.Object, m *material, now time.Time) bool {
	if m == nil || m.pair == nil {
		return false
	}
	for _, target := range targets {
		if vouches(target, m, now) != nil {
			return false
		}
	}
	return true
}

// sumOf tells two states of the targets' bundles apart.
func sumOf(targets []client.Object) string {
	var sum []byte
	for _, target := range targets {
		for _, s := range slots(target) {
			sum = append(append(sum, s.bundle...), 0)
		}
	}
	return string(sum)
}
