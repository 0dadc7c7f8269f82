package certs

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// O-01, in memory: certificates change while clients connect, and no handshake fails.
func TestSwapUnderLoad(t *testing.T) {
	first := decode(base(t))
	second := decode(base(t))
	c := New(nil, Options{ServiceName: "hooks", Namespace: "ops", Now: func() time.Time { return epoch }})
	c.serving.Store(first)
	address := serveWith(t, c)
	roots := first.pool()
	roots.AddCert(second.bundle[0])
	client := &tls.Config{RootCAs: roots, ServerName: names[0], Time: func() time.Time { return epoch }}

	var clients sync.WaitGroup
	var handshakes, seenSecond atomic.Int64
	stop := make(chan struct{})
	for range 4 {
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				connection, err := tls.Dial("tcp", address, client)
				if err != nil {
					t.Errorf("handshake: %v", err)
					return
				}
				if connection.ConnectionState().PeerCertificates[0].Equal(second.leaf()) {
					seenSecond.Add(1)
				}
				handshakes.Add(1)
				_ = connection.Close()
			}
		})
	}
	for i := 0; handshakes.Load() < 400 && !t.Failed(); i++ {
		c.serve(t.Context(), []*material{second, first}[i%2])
	}
	c.serve(t.Context(), second)
	close(stop)
	clients.Wait()
	if n := seenSecond.Load(); n == 0 || n == handshakes.Load() {
		t.Errorf("%d of %d handshakes met the second certificate: nothing was swapped", n, handshakes.Load())
	}
	// The negative control of the loop above: a certificate that the clients do not trust must be noticed.
	c.serve(t.Context(), decode(base(t)))
	if _, err := tls.Dial("tcp", address, client); err == nil {
		t.Error("a certificate of an unknown authority was accepted")
	}
}

// O-03: what cannot be served is ignored, and the old one is served on.
func TestAdoptIgnoresWhatCannotBeServed(t *testing.T) {
	c := New(nil, Options{ServiceName: "hooks", Namespace: "ops", Now: func() time.Time { return epoch }})
	good := base(t)
	if !adopted(t, c, good) {
		t.Fatal("a good Secret was refused")
	}
	if adopted(t, c, with(good, KeyPrivateKey, base(t)[KeyPrivateKey])) {
		t.Error("a key that does not match was taken")
	}
	pair, err := c.GetCertificate(nil)
	if err != nil || !pair.Leaf.Equal(decode(good).leaf()) {
		t.Errorf("GetCertificate = %v, want the old one", err)
	}
}

// adopted says whether the content of a Secret is served after it was seen.
func adopted(t *testing.T, c *Certificates, data map[string][]byte) bool {
	t.Helper()
	secret := &corev1.Secret{Data: data}
	o := c.observation(secret, nil)
	c.adopt(t.Context(), ModeSelfManaged, secret, &o)
	return c.problem.Load() == nil
}

func TestReady(t *testing.T) {
	now := epoch
	c := New(nil, Options{ServiceName: "hooks", Namespace: "ops", SecretName: "s", Now: func() time.Time { return now }})
	expect := func(part string) {
		t.Helper()
		err := c.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil))
		if got := errorText(err); (part == "") != (err == nil) || !strings.Contains(got, part) {
			t.Errorf("Ready: %q, want %q in it", got, part)
		}
	}
	if _, err := c.GetCertificate(nil); err == nil {
		t.Error("a certificate from nowhere")
	}
	expect("no serving certificate yet: waiting for Secret ops/s")
	c.options.Address = "127.0.0.1:1"
	c.serve(t.Context(), decode(base(t)))
	expect("waiting for the first look")
	c.synced.Store(true)
	expect("dialing our own webhook port")
	now = epoch.Add(2 * short.Leaf)
	expect("Secret ops/s: the serving certificate expired")
}

// The self-dial verifies as the API server does: with the time of this machine.
func TestDial(t *testing.T) {
	c := New(nil, Options{ServiceName: "hooks", Namespace: "ops"})
	data, err := issue(StepReplace, Observation{names: c.names, now: time.Now()}, short)
	if err != nil {
		t.Fatal(err)
	}
	c.serve(t.Context(), decode(data))
	c.options.Address = serveWith(t, c)
	if err := c.dial(t.Context(), c.serving.Load()); err != nil {
		t.Errorf("dial: %v", err)
	}
	data, err = issue(StepReplace, Observation{names: c.names, now: time.Now()}, short)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.dial(t.Context(), decode(data)); err == nil {
		t.Error("the port serves another certificate than the one asked about, unnoticed")
	}
}

func TestDialable(t *testing.T) {
	for address, want := range map[string]string{
		"[::]:10250": "localhost:10250", "0.0.0.0:1": "localhost:1", ":2": "localhost:2", "10.0.0.1:3": "10.0.0.1:3", "[::1]:4": "[::1]:4",
	} {
		if got := dialable(address); got != want {
			t.Errorf("dialable(%q) = %q, want %q", address, got, want)
		}
	}
}

// A damaged caBundle takes a replica out of the Service only if repairing it takes long.
func TestTrustToleratesARepair(t *testing.T) {
	var tr trust
	broken := errorString("broken")
	if tr.judge(broken, epoch) == nil {
		t.Error("ready before it was ever trusted")
	}
	if err := tr.judge(nil, epoch); err != nil {
		t.Error(err)
	}
	if err := tr.judge(broken, epoch.Add(repairTime-time.Second)); err != nil {
		t.Errorf("not ready during a repair: %v", err)
	}
	if tr.judge(broken, epoch.Add(repairTime)) == nil {
		t.Error("ready for ever")
	}
}

type errorString string

func (e errorString) Error() string { return string(e) }

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// serveWith listens on a free port with the certificates of c until the test ends.
func serveWith(t *testing.T, c *Certificates) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	_ = server.Listener.Close()
	server.Listener = listener
	server.Config.TLSConfig = &tls.Config{GetCertificate: c.GetCertificate, MinVersion: tls.VersionTLS13}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Config.ServeTLS(listener, "", "")
	}()
	t.Cleanup(func() {
		_ = server.Config.Close()
		<-done
	})
	return listener.Addr().String()
}
