package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

const (
	// dialTimeout bounds the readiness check's own connection.
	dialTimeout = 3 * time.Second
	// repairTime is how long a replica that was trusted stays ready although a target no longer vouches for it. Repair takes
	// seconds; leaving the Service at once would turn a damaged caBundle in one object into an outage of all of them.
	repairTime = 30 * time.Second
)

var _ healthz.Checker = (*Certificates)(nil).Ready

// Ready is nil when the API server can call the webhooks of this replica: there is a certificate, it is in its lifetime, the
// caBundle of every target that exists vouches for it, and a connection to our own port, verified as the API server does it,
// succeeds. The error says what is missing.
func (c *Certificates) Ready(request *http.Request) error {
	m := c.serving.Load()
	if m == nil {
		return c.nothingYet()
	}
	now := c.options.Now()
	if v := judge(m, c.names, now); v != nil {
		return fmt.Errorf("%s: %w", c.secretName(), v)
	}
	if !c.synced.Load() {
		return fmt.Errorf("waiting for the first look at the CustomResourceDefinitions and webhook configurations")
	}
	if err := c.trust.judge(c.untrusted(m, now), now); err != nil {
		return err
	}
	return c.dial(request.Context(), m)
}

// untrusted says which target does not vouch for what is served, nil when all do.
func (c *Certificates) untrusted(m *material, now time.Time) error {
	for _, w := range c.targets {
		target := w.last()
		if target == nil {
			continue
		}
		err := vouches(target, m, now)
		if err != nil && injected(target) {
			return fmt.Errorf("%s %s: %w; the cainjector of cert-manager writes it, since the object is annotated so", w.kind, w.name, err)
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", w.kind, w.name, err)
		}
	}
	return nil
}

// dial connects to our own port and verifies the certificate there against the published bundle.
func (c *Certificates) dial(ctx context.Context, m *material) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: m.pool(), ServerName: c.names[0], MinVersion: tls.VersionTLS12}}
	connection, err := dialer.DialContext(ctx, "tcp", dialable(c.options.Address))
	if err != nil {
		return fmt.Errorf("dialing our own webhook port: %w", err)
	}
	return connection.Close()
}

// dialable turns the address of a listener into one to connect to: a wildcard becomes loopback.
func dialable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port)
}

// trust remembers whether the targets vouched for us.
type trust struct {
	mu sync.Mutex
	// last is when they did so for the last time, zero before the first.
	last time.Time
}

// judge passes the error on, except for the time of a repair.
func (t *trust) judge(err error, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil {
		t.last = now
		return nil
	}
	if !t.last.IsZero() && now.Sub(t.last) < repairTime {
		return nil
	}
	return err
}
