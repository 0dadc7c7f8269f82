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
	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// inFlightTimeout is how long requests that are under way may take when the server stops.
const inFlightTimeout = 30 * time.Second

const (
	// clientIdle is a little more than the API server keeps a connection that it does not use.
	clientIdle = 95 * time.Second
	// unusedPoll is how often awaitUnused looks.
	unusedPoll = 100 * time.Millisecond
)

// conversionPath is where the conversion webhook is served. It bounds by itself what it holds.
const conversionPath = "/convert"

// webhookServer serves the webhooks. The one of controller-runtime stops with the manager; this one outlives it, so that the
// controllers can stop and the Lease be handed over at once while other replicas are still being found. It also bounds how long
// a client may take, and knows its port before anything else starts.
type webhookServer struct {
	webhook.Server
	mux      *http.ServeMux
	listener net.Listener
	tls      *tls.Config
	limits   limits
	// admission is what all admission requests share.
	admission *semaphore.Weighted
	// connectionAge is how long a connection is used, 0 for ever.
	connectionAge time.Duration
	// tracing may be nil.
	tracing *tracing

	serving  atomic.Bool
	draining atomic.Bool
	// open is how many connections there are.
	open atomic.Int64
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
		Server:        webhook.NewServer(webhook.Options{Host: o.webhookHost, Port: max(o.webhookPort, 1), WebhookMux: mux}),
		mux:           mux,
		listener:      listener,
		tls:           &tls.Config{MinVersion: tlsVersions[o.tlsVersion]},
		limits:        defaultLimits,
		admission:     semaphore.NewWeighted(defaultLimits.inFlightBytes),
		connectionAge: o.connectionAge,
	}, nil
}

// address is what the server listens on.
func (s *webhookServer) address() string { return s.listener.Addr().String() }

// Register puts a webhook behind its path, and an admission webhook behind the bound of all of them.
func (s *webhookServer) Register(path string, hook http.Handler) {
	if path != conversionPath {
		hook = &limitedHandler{next: hook, inFlight: s.admission, most: s.limits.inFlightBytes}
	}
	s.Server.Register(path, s.tracing.webhook(path, hook))
}

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

// count follows the number of open connections.
func (s *webhookServer) count(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		s.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		s.open.Add(-1)
	}
}

// awaitUnused waits, while draining, until no client has a connection any more, or for as long as clients keep one that they do not
// use.
//
// The API server calls webhooks by HTTP/1.1, where a server cannot end a connection without a risk: a request may be on its way,
// and a POST is not sent again. A client that ends it, because an answer told it to or because it has not needed it for
// 90 seconds, loses nothing.
func (s *webhookServer) awaitUnused(ctx context.Context) {
	// An error says that the time is over.
	_ = wait.PollUntilContextTimeout(ctx, unusedPoll, clientIdle, true, func(context.Context) (bool, error) {
		return s.open.Load() == 0, nil
	})
}

// Serve answers requests until the context ends, and then finishes those that are under way.
func (s *webhookServer) Serve(ctx context.Context) error {
	logger := log.FromContext(ctx).WithName("webhook-server")
	running := context.WithoutCancel(ctx)
	server := &http.Server{
		Handler:           s,
		TLSConfig:         s.tls,
		ReadHeaderTimeout: s.limits.header,
		ReadTimeout:       s.limits.request,
		WriteTimeout:      s.limits.response,
		IdleTimeout:       s.limits.idle,
		MaxHeaderBytes:    maxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return running },
		ConnContext:       withAge,
		ConnState:         s.count,
		// A client that breaks off a handshake is no event of ours.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(logger), slog.LevelDebug),
	}
	listener := limitConnections(s.listener, s.limits.connections)
	logger.Info("Serving webhooks", "address", s.address())
	s.serving.Store(true)
	defer s.serving.Store(false)
	return serveUntil(ctx, server, func() error { return server.ServeTLS(listener, "", "") }, inFlightTimeout)
}

// ServeHTTP passes a request on to the webhook of its path.
func (s *webhookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() || s.connectionAge > 0 && ageOf(r.Context()) > s.connectionAge {
		// By HTTP/2 this becomes a GOAWAY: the connection ends when its requests have been answered.
		w.Header().Set("Connection", "close")
	}
	s.mux.ServeHTTP(w, r)
}

// bornKey is the key of the time at which a connection was made, in the context of its requests.
type bornKey struct{}

func withAge(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, bornKey{}, time.Now())
}

// ageOf is how old the connection of a request is.
func ageOf(ctx context.Context) time.Duration {
	born, ok := ctx.Value(bornKey{}).(time.Time)
	if !ok {
		return 0
	}
	return time.Since(born)
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
