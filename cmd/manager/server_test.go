package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// started is a webhook server with a certificate of its own, and a client that trusts it.
type started struct {
	server *webhookServer
	client *http.Client
	// dials counts the connections of the client.
	dials int
	// said is what the server logs at any level.
	said  *output
	stop  context.CancelFunc
	ended chan error
}

func startServer(t testing.TB, tlsVersion string, mutations ...func(*webhookServer)) *started {
	t.Helper()
	server, err := listenWebhooks(t.Context(), &options{webhookHost: "127.0.0.1", tlsVersion: tlsVersion})
	if err != nil {
		t.Fatal(err)
	}
	for _, mutate := range mutations {
		mutate(server)
	}
	certificate := selfSigned(t)
	server.tls.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate, nil }
	s := &started{server: server, said: &output{}, ended: make(chan error, 1)}
	logger := funcr.New(func(_, args string) { fmt.Fprintln(s.said, args) }, funcr.Options{Verbosity: 10})
	var ctx context.Context
	ctx, s.stop = context.WithCancel(log.IntoContext(context.WithoutCancel(t.Context()), logger))
	roots := x509.NewCertPool()
	roots.AddCert(certificate.Leaf)
	s.client = &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   &tls.Config{RootCAs: roots, ServerName: "hooks"},
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			s.dials++
			return (&net.Dialer{}).DialContext(ctx, network, address)
		},
	}}
	go func() { s.ended <- server.Serve(ctx) }()
	t.Cleanup(func() {
		s.stop()
		s.client.CloseIdleConnections()
	})
	return s
}

func (s *started) get(t testing.TB, path string) string {
	t.Helper()
	response, err := s.client.Get("https://" + s.server.address() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.ProtoMajor != 2 {
		t.Errorf("protocol %s, want HTTP/2", response.Proto)
	}
	return string(body)
}

func selfSigned(t testing.TB) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"hooks"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key, Leaf: leaf}
}

// O-07: before draining a connection is reused; while draining each answer ends its connection, and new ones are still accepted.
func TestDrainMovesClientsAway(t *testing.T) {
	s := startServer(t, "1.3")
	s.server.Register("/x", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	for range 3 {
		s.get(t, "/x")
	}
	if s.dials != 1 {
		t.Fatalf("%d connections before draining, want 1", s.dials)
	}
	s.server.drain()
	for range 3 {
		if got := s.get(t, "/x"); got != "answer" {
			t.Errorf("answer %q while draining", got)
		}
	}
	if s.dials < 3 {
		t.Errorf("%d connections after draining began: clients are kept", s.dials)
	}
}

// A connection that nobody uses is not ended by the server: a request may be on its way. The client ends it.
func TestDrainWaitsForIdleConnections(t *testing.T) {
	s := startServer(t, "1.3")
	s.server.Register("/x", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
	s.get(t, "/x")
	s.server.drain()
	unused := make(chan struct{})
	go func() {
		defer close(unused)
		s.server.awaitUnused(t.Context())
	}()
	select {
	case <-unused:
		t.Fatal("an open connection was not waited for")
	case <-time.After(3 * unusedPoll):
	}
	s.client.CloseIdleConnections()
	select {
	case <-unused:
	case <-time.After(soon):
		t.Fatal("still waiting without a connection")
	}
}

// A connection that has been used for long is given up without a failed request, so that clients spread over the replicas.
func TestConnectionAge(t *testing.T) {
	for age, want := range map[time.Duration]int{0: 1, time.Nanosecond: 4, time.Hour: 1} {
		s := startServer(t, "1.3", func(s *webhookServer) { s.connectionAge = age })
		s.server.Register("/x", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "answer") }))
		for range 4 {
			s.get(t, "/x")
		}
		if s.dials != want {
			t.Errorf("%d connections at age %s, want %d", s.dials, age, want)
		}
	}
}

// A request that is under way when the server is told to stop is answered.
func TestStopFinishesRequests(t *testing.T) {
	s := startServer(t, "1.3")
	entered, release := make(chan struct{}), make(chan struct{})
	s.server.Register("/slow", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		if r.Context().Err() != nil {
			t.Error("the request was cancelled")
		}
		_, _ = io.WriteString(w, "answer")
	}))
	answer := make(chan string, 1)
	go func() { answer <- s.get(t, "/slow") }()
	<-entered
	s.stop()
	select {
	case err := <-s.ended:
		t.Fatalf("the server ended before the request: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	close(release)
	if got := <-answer; got != "answer" {
		t.Errorf("answer %q", got)
	}
	if err := <-s.ended; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestTLSVersion(t *testing.T) {
	for version, accepted := range map[string]bool{"1.2": true, "1.3": false} {
		s := startServer(t, version)
		old := s.client.Transport.(*http.Transport).TLSClientConfig.Clone()
		old.MaxVersion = tls.VersionTLS12
		connection, err := tls.Dial("tcp", s.server.address(), old)
		if (err == nil) != accepted {
			t.Errorf("--tls-min-version %s with a TLS 1.2 client: %v", version, err)
		}
		if err == nil {
			_ = connection.Close()
		}
	}
}

// Start is the manager's view: it must neither serve nor end before the manager does.
func TestStartWaits(t *testing.T) {
	server, err := listenWebhooks(t.Context(), &options{webhookHost: "127.0.0.1", tlsVersion: "1.3"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.listener.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := server.Start(ctx); err != nil {
		t.Error(err)
	}
	if server.StartedChecker()(nil) == nil {
		t.Error("started without Serve")
	}
}
