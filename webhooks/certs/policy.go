package certs

import (
	"crypto/x509"
	"fmt"
	"time"
)

// Reason names what is wrong with the content of the Secret. It is stable, for logs and events.
type Reason string

// Reasons, in the order in which they are looked for.
const (
	// ReasonMissing shows when there is no Secret.
	ReasonMissing Reason = "Missing"
	// ReasonBundleUnreadable shows when ca.crt is missing, is not PEM, or holds no certificate.
	ReasonBundleUnreadable Reason = "BundleUnreadable"
	// ReasonKeyPairUnreadable shows when tls.crt or tls.key is missing or damaged, or when they do not belong together.
	ReasonKeyPairUnreadable Reason = "KeyPairUnreadable"
	// ReasonExpired shows when the serving certificate is past its end.
	ReasonExpired Reason = "Expired"
	// ReasonNotYetValid shows when the serving certificate starts in the future: a clock is wrong.
	ReasonNotYetValid Reason = "NotYetValid"
	// ReasonWrongNames shows when the serving certificate was made for another Service or namespace.
	ReasonWrongNames Reason = "WrongNames"
	// ReasonUntrusted shows when no authority in ca.crt vouches for the serving certificate.
	ReasonUntrusted Reason = "Untrusted"
)

// Violation says why the content of a Secret cannot be served.
type Violation struct {
	Reason  Reason
	Message string
}

// Error makes a Violation usable where an error is expected.
func (v *Violation) Error() string { return v.Message }

// check is one rule about what can be served: nil when it holds.
type check func(m *material, names []string, now time.Time) *Violation

// servingChecks are all rules for content that may be served. Each may rely on those before it.
var servingChecks = []check{bundleReadable, keyPairReadable, withinLifetime, namesCovered, trusted}

// judge returns the first violation, nil when the material can be served under all the names.
func judge(m *material, names []string, now time.Time) *Violation {
	for _, c := range servingChecks {
		if v := c(m, names, now); v != nil {
			return v
		}
	}
	return nil
}

func bundleReadable(m *material, _ []string, _ time.Time) *Violation {
	if m.bundleErr == nil {
		return nil
	}
	return &Violation{ReasonBundleUnreadable, fmt.Sprintf("%s cannot be read: %v", KeyBundle, m.bundleErr)}
}

func keyPairReadable(m *material, _ []string, _ time.Time) *Violation {
	if m.pairErr == nil {
		return nil
	}
	return &Violation{ReasonKeyPairUnreadable, fmt.Sprintf("%s and %s cannot be used: %v", KeyCertificate, KeyPrivateKey, m.pairErr)}
}

func withinLifetime(m *material, _ []string, now time.Time) *Violation {
	leaf := m.leaf()
	switch {
	case now.After(leaf.NotAfter):
		return &Violation{ReasonExpired, "the serving certificate expired at " + leaf.NotAfter.UTC().Format(time.RFC3339)}
	case now.Before(leaf.NotBefore):
		return &Violation{ReasonNotYetValid, "the serving certificate is not valid before " + leaf.NotBefore.UTC().Format(time.RFC3339)}
	}
	return nil
}

func namesCovered(m *material, names []string, _ time.Time) *Violation {
	for _, name := range names {
		if m.leaf().VerifyHostname(name) != nil {
			return &Violation{ReasonWrongNames, "the serving certificate is not for " + name}
		}
	}
	return nil
}

func trusted(m *material, _ []string, now time.Time) *Violation {
	if err := verify(m, m.pool(), now); err != nil {
		return &Violation{ReasonUntrusted, fmt.Sprintf("%s does not vouch for the serving certificate: %v", KeyBundle, err)}
	}
	return nil
}

// verify checks the serving certificate, with the intermediates that come with it, against trusted roots.
func verify(m *material, roots *x509.CertPool, now time.Time) error {
	intermediates := x509.NewCertPool()
	for _, raw := range m.pair.Certificate[1:] {
		if certificate, err := x509.ParseCertificate(raw); err == nil {
			intermediates.AddCert(certificate)
		}
	}
	_, err := m.leaf().Verify(x509.VerifyOptions{
		Roots:         roots,
		Intermediates: intermediates,
		CurrentTime:   now,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	return err
}
