package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// probeGrace is how long a probe that is under way may take when the process stops.
const probeGrace = 5 * time.Second

// probes answers /healthz and /readyz from the first moment to the last. The manager's own endpoints begin later, end earlier
// and withhold the reason.
type probes struct {
	listener net.Listener
	check    atomic.Pointer[healthz.Checker]
}

// listenProbes takes the port. Connections wait until Serve.
func listenProbes(ctx context.Context, o *options) (*probes, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.probeAddress)
	if err != nil {
		return nil, fmt.Errorf("cannot listen for health probes on %s: %w; choose with --health-probe-bind-address", o.probeAddress, err)
	}
	p := &probes{listener: listener}
	p.notReady(errors.New("starting"))
	return p, nil
}

// readyWhen makes a check decide about readiness.
func (p *probes) readyWhen(check healthz.Checker) { p.check.Store(&check) }

// notReady makes the process not ready, for the reason given.
func (p *probes) notReady(reason error) {
	p.readyWhen(func(*http.Request) error { return reason })
}

// Serve answers probes until the context ends.
func (p *probes) Serve(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := (*p.check.Load())(r); err != nil {
			http.Error(w, "not ready: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{
		Handler:           mux,
		ReadHeaderTimeout: defaultLimits.header,
		ReadTimeout:       defaultLimits.request,
		WriteTimeout:      defaultLimits.request,
		MaxHeaderBytes:    maxHeaderBytes,
	}
	return serveUntil(ctx, server, func() error { return server.Serve(p.listener) }, probeGrace)
}
