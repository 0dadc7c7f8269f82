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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/workload-operator/cmd/manager/internal/claims"
)

// cacheTimeout is how long controllers wait for the first list of a kind. Objects stored in the older version are listed
// through our own webhook, and a replica that gives up and starts over only makes that take longer.
const cacheTimeout = 10 * time.Minute

// leaseRetry is how often the Lease is looked at. A replica that waits looks 1 to 2.2 times as rarely, so that one which was
// given back is taken within two seconds; the default of controller-runtime makes that up to 4.4 seconds.
const leaseRetry = 700 * time.Millisecond

// A replica takes over from one that has not renewed the Lease for leaseDuration. One that cannot renew it for leaseRenewal ends.
const (
	leaseDuration = 15 * time.Second
	leaseRenewal  = 10 * time.Second
)

// newManager makes the manager: caches, clients, leader election and metrics. Probes and webhooks are served beside it. Without leader
// election there is no lock.
func newManager(ctx context.Context, p *process) (ctrl.Manager, *claims.Lock, error) {
	o := p.options
	scheme, err := newScheme()
	if err != nil {
		return nil, nil, fmt.Errorf("building the scheme: %w", err)
	}
	var mgr ctrl.Manager
	lock, err := newLock(p.config, o, log.FromContext(ctx).WithName("claims"), func() ctrl.Manager { return mgr })
	if err != nil {
		return nil, nil, fmt.Errorf("setting up leader election: %w", err)
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		Logger:                        quiet(log.FromContext(ctx)),
		Cache:                         cacheOptions(o.claim),
		Client:                        client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Controller:                    ctrlconfig.Controller{CacheSyncTimeout: cacheTimeout},
		Metrics:                       metricsOptions(o),
		HealthProbeBindAddress:        "0",
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              o.leaderName(),
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(leaseRenewal),
		RetryPeriod:                   new(leaseRetry),
	}
	if lock != nil {
		options.LeaderElectionResourceLockInterface = lock
	}
	if p.webhooks != nil {
		options.WebhookServer = p.webhooks
	}
	if mgr, err = ctrl.NewManager(p.config, options); err != nil {
		return nil, nil, fmt.Errorf("setting up the manager: %w", err)
	}
	return mgr, lock, nil
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
