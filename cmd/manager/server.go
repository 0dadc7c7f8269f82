package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// Limits for clients. The API server gives up on a conversion after 30 seconds and on an admission request after less.
const (
	headerTimeout   = 10 * time.Second
	requestTimeout  = 30 * time.Second
	responseTimeout = 60 * time.Second
	idleTimeout     = 90 * time.Second
	maxHeaderBytes  = 64 << 10
	// inFlightTimeout is how long requests that are under way may take when the server stops.
	inFlightTimeout = 30 * time.Second
)

// webhookServer serves the webhooks. The one of controller-runtime stops with the manager; this one outlives it, so that the
// controllers can stop and the Lease be handed over at once while other replicas are still being found. It also bounds how long
// a client may take, and knows its port before anything else starts.
type webhookServer struct {
	webhook.Server
	mux      *http.ServeMux
	listener net.Listener
	tls      *tls.Config

	serving  atomic.Bool
	draining atomic.Bool
}

var _ webhook.Server = (*webhookServer)(nil)

// listenWebhooks takes the port. Connections wait until Serve.
func listenWebhooks(ctx context.Context, o *options) (*webhookServer, error) {
	address := net.JoinHostPort(o.webhookHost, strconv.Itoa(o.webhookPort))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for webhooks on %s: %w; choose with --webhook-port and --webhook-bind-address", address, err)
	}
	mux := http.NewServeMux()
	return &webhookServer{
		Server:   webhook.NewServer(webhook.Options{Host: o.webhookHost, Port: max(o.webhookPort, 1), WebhookMux: mux}),
		mux:      mux,
		listener: listener,
		tls:      &tls.Config{MinVersion: tlsVersions[o.tlsVersion]},
	}, nil
}

// address is what the server listens on.
func (s *webhookServer) address() string { return s.listener.Addr().String() }

// Start is called by the manager, and does nothing for as long as that runs: Serve is the one that serves.
func (s *webhookServer) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// StartedChecker says whether Serve is running.
func (s *webhookServer) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.serving.Load() {
			return errors.New("the webhook server is not serving")
		}
		return nil
	}
}

// drain asks clients, with each answer, to use another connection from now on. Until Serve ends, new ones are accepted.
func (s *webhookServer) drain() { s.draining.Store(true) }

// Serve answers requests until the context ends, and then finishes those that are under way.
func (s *webhookServer) Serve(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("webhook-server")
	running := context.WithoutCancel(ctx)
	server := &http.Server{
		Handler:           s,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       requestTimeout,
		WriteTimeout:      responseTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return running },
		// A client that breaks off a handshake is no event of ours.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelDebug),
	}
	logger.Info("Serving webhooks", "address", s.address())
	s.serving.Store(true)
	defer s.serving.Store(false)
	return serveUntil(ctx, server, func() error { return server.ServeTLS(s.listener, "", "") }, inFlightTimeout)
}

// ServeHTTP passes a request on to the webhook of its path.
func (s *webhookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		// By HTTP/2 this becomes a GOAWAY: the connection ends when its requests have been answered.
		w.Header().Set("Connection", "close")
	}
	s.mux.ServeHTTP(w, r)
}

// serveUntil runs serve until the context ends, then stops the server, giving requests under way the time to finish.
func serveUntil(ctx context.Context, server *http.Server, serve func() error, grace time.Duration) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer cancel()
		err := server.Shutdown(timeout)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		stopped <- err
	})
	if err := serve(); !errors.Is(err, http.ErrServerClosed) {
		unhook()
		return err
	}
	return <-stopped
}
