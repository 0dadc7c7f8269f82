package certs

import (
	"crypto/x509"
	"maps"
	"testing"
	"time"
)

var (
	epoch = time.Date(2030, time.January, 1, 0, 0, 0, 0, time.UTC)
	names = []string{"hooks.ops.svc", "hooks.ops.svc.cluster.local"}
	short = Lifetimes{Authority: 3 * time.Hour, Leaf: time.Hour, Settle: time.Minute}
)

// base is a fresh, complete Secret as made at epoch.
func base(t *testing.T) map[string][]byte {
	t.Helper()
	return carryOut(t, StepReplace, Observation{names: names, now: epoch})
}

func carryOut(t *testing.T, step Step, o Observation) map[string][]byte {
	t.Helper()
	data, err := issue(step, o, short)
	if err != nil {
		t.Fatalf("issue(%s): %v", step, err)
	}
	return data
}

// rotating is a Secret in the middle of a replacement of its authority: the new one is published, the old leaf still served.
func rotating(t *testing.T, at time.Time) map[string][]byte {
	t.Helper()
	return carryOut(t, StepPublishAuthority, Observation{secret: decode(base(t)), names: names, now: at})
}

func without(data map[string][]byte, keys ...string) map[string][]byte {
	out := maps.Clone(data)
	for _, key := range keys {
		delete(out, key)
	}
	return out
}

func with(data map[string][]byte, key string, value []byte) map[string][]byte {
	out := maps.Clone(data)
	out[key] = value
	return out
}

// foreign is a Secret in the format of others: no key of the authority, another authority.
func foreign(t *testing.T, dnsNames ...string) map[string][]byte {
	t.Helper()
	data := carryOut(t, StepReplace, Observation{names: dnsNames, now: epoch})
	return without(data, KeyAuthorityKey)
}

func count(m *material) int { return len(m.bundle) }

func mustVerify(t *testing.T, m *material, roots []*x509.Certificate, now time.Time) error {
	t.Helper()
	pool := x509.NewCertPool()
	for _, root := range roots {
		pool.AddCert(root)
	}
	return verify(m, pool, now)
}
