package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/workload-operator/controllers"
)

// cacheTimeout is how long controllers wait for the first list of a kind. Objects stored in the older version are listed
// through our own webhook, and a replica that gives up and starts over only makes that take longer.
const cacheTimeout = 10 * time.Minute

// leaseRetry is how often the Lease is looked at. A replica that waits looks 1 to 2.2 times as rarely, so that one which was
// given back is taken within two seconds; the default of controller-runtime makes that up to 4.4 seconds.
const leaseRetry = 700 * time.Millisecond

// newManager makes the manager: caches, clients, leader election and metrics. Probes and webhooks are served beside it.
func newManager(config *rest.Config, o *options, webhooks *webhookServer) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Logger:                        log.Log.WithSink(quietEnd{log.Log.GetSink()}),
		Cache:                         controllers.CacheOptions(),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller:                    ctrlconfig.Controller{CacheSyncTimeout: cacheTimeout},
		Metrics:                       metricsOptions(o),
		HealthProbeBindAddress:        "0",
		WebhookServer:                 webhooks,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaderElectionID,
		LeaderElectionNamespace:       o.namespace,
		LeaderElectionReleaseOnCancel: true,
		RetryPeriod:                   new(leaseRetry),
	})
	if err != nil {
		return nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, nil
}

func metricsOptions(o *options) metricsserver.Options {
	m := metricsserver.Options{BindAddress: o.metricsAddress, SecureServing: o.metricsSecure}
	if o.metricsSecure {
		m.FilterProvider = filters.WithAuthenticationAndAuthorization
		m.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.MinVersion = tlsVersions[o.tlsVersion] }}
	}
	return m
}

// tryMetrics takes the port of the metrics endpoint for a moment. The manager opens it itself, and would say that it is
// occupied only after everything else has begun.
func tryMetrics(ctx context.Context, o *options) error {
	if o.metricsAddress == "0" {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.metricsAddress)
	if err != nil {
		return fmt.Errorf("cannot listen for metrics on %s: %w; choose with --metrics-bind-address", o.metricsAddress, err)
	}
	return listener.Close()
}

// explain adds what to do to an error of a running manager. The metrics endpoint is the only port that the manager takes.
func explain(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w; choose another port with --metrics-bind-address", err)
	}
	return err
}
