package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/webhooks/certs"
)

// reachTimeout bounds the first request to the API server.
const reachTimeout = 10 * time.Second

// errStopping is the reason of a process that is not ready because it drains.
var errStopping = errors.New("shutting down")

// process is what one run of the command is made of.
type process struct {
	options  *options
	config   *rest.Config
	direct   client.WithWatch
	probes   *probes
	webhooks *webhookServer
	certs    *certs.Certificates
	tracing  *tracing
	// hurried says that the process ends in order to begin anew.
	hurried atomic.Bool
}

// run is the life of the process. The context ends with the signal to stop.
//
// Stopping, readiness goes first and the manager stops at once, which hands the Lease over; the webhooks are served on for the
// shutdown delay. The ReleaseOnCancel of the Lease is safe with that: nothing that is left writes as the leader.
func run(ctx context.Context, o *options) error {
	if o.shard != "" {
		ctx = log.IntoContext(ctx, log.FromContext(ctx).WithValues("shard", o.shard))
	}
	log.FromContext(ctx).Info("Starting", "version", version(), "namespace", o.namespace, "claim", o.claim)
	p, err := prepare(ctx, o)
	if err != nil {
		return err
	}
	defer p.tracing.stop(ctx)
	// The background outlives the signal, and ends early when one of its servers fails. The work ends with either.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, background := errgroup.WithContext(background)
	work, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(background, cancel)()

	drained := make(chan struct{})
	group.Go(func() error { return p.probes.Serve(background) })
	group.Go(func() error {
		defer close(drained)
		p.drain(work, background)
		return nil
	})
	err = p.work(work, background, group)
	if work.Err() != nil && errors.Is(err, context.Canceled) {
		// Told to stop while starting: what was under way has been cut off.
		err = nil
	}
	switch {
	case err == nil:
	case err.Error() == leaseGivenBack:
		// The Lease could not be renewed in time. The webhooks have nothing to do with the Lease, and clients have yet to learn to go elsewhere.
		p.hurried.Store(true)
	default:
		stop()
	}
	cancel()
	<-drained
	stop()
	return errors.Join(err, group.Wait())
}

// prepare takes the ports and reaches the API server, so that what cannot work fails before anything runs.
func prepare(ctx context.Context, o *options) (*process, error) {
	p := &process{options: o}
	var err error
	if p.probes, err = listenProbes(ctx, o); err != nil {
		return nil, err
	}
	if o.claim.Webhooks {
		if p.webhooks, err = listenWebhooks(ctx, o); err != nil {
			return nil, err
		}
	}
	if err := tryMetrics(ctx, o); err != nil {
		return nil, err
	}
	if p.config, err = connect(ctx, o); err != nil {
		return nil, err
	}
	if p.tracing, err = startTracing(ctx, os.Getenv); err != nil {
		return nil, err
	}
	if p.tracing != nil {
		p.config.Wrap(p.tracing.transport)
	}
	if p.direct, err = certs.NewClient(p.config); err != nil {
		return nil, err
	}
	if o.claim.Webhooks {
		p.prepareWebhooks()
	}
	return p, nil
}

// prepareWebhooks gives the webhook server its certificate.
func (p *process) prepareWebhooks() {
	o := p.options
	p.webhooks.tracing = p.tracing
	p.certs = certs.New(p.direct, certs.Options{
		Namespace:                       o.namespace,
		SecretName:                      o.certificateSecret,
		ServiceName:                     o.webhookService,
		CRDs:                            crdNames,
		ValidatingWebhookConfigurations: []string{o.validatingConfiguration},
		MutatingWebhookConfigurations:   []string{o.mutatingConfiguration},
		Address:                         p.webhooks.address(),
		Mode:                            certs.Mode(o.certificateMode),
		Lifetimes:                       o.lifetimes,
	})
	p.webhooks.tls.GetCertificate = p.certs.GetCertificate
}

// connect finds the API server and asks it for its version.
func connect(ctx context.Context, o *options) (*rest.Config, error) {
	c, err := configured()
	if err != nil {
		return nil, err
	}
	c.UserAgent = o.userAgent()
	c.QPS = float32(o.kubeQPS)
	c.Burst = o.kubeBurst
	short := rest.CopyConfig(c)
	short.Timeout = reachTimeout
	d, err := discovery.NewDiscoveryClientForConfig(short)
	if err != nil {
		return nil, fmt.Errorf("the connection to the cluster is not usable: %w; check --kubeconfig", err)
	}
	info, err := d.ServerVersion()
	if request, ok := errors.AsType[*url.Error](err); ok {
		err = request.Err // the rest is the address again
	}
	if err != nil {
		return nil, fmt.Errorf("cannot reach the API server at %s: %w; check that it is up, and --kubeconfig", c.Host, err)
	}
	log.FromContext(ctx).Info("Connected", "server", c.Host, "serverVersion", info.GitVersion)
	return c, nil
}

// configured is the connection that --kubeconfig, KUBECONFIG, the Pod or the home directory give, in this order.
func configured() (*rest.Config, error) {
	c, err := config.GetConfig()
	switch {
	case err == nil:
		return c, nil
	case clientcmd.IsEmptyConfig(err):
		return nil, errors.New("no connection to a cluster is configured: give --kubeconfig or run in a Pod with a service account")
	}
	return nil, fmt.Errorf("no connection to a cluster is configured: %w; give --kubeconfig or run in a Pod with a service account", err)
}

// work brings everything up and returns when the manager has stopped. Each step needs those before it: the caches of the manager
// are filled through the webhooks, which need the certificate to be published, which needs the CustomResourceDefinitions.
func (p *process) work(ctx, background context.Context, group *errgroup.Group) error {
	if err := p.publish(ctx, background, group); err != nil {
		return err
	}
	mgr, lock, err := newManager(ctx, p)
	if err != nil {
		return err
	}
	if err := errors.Join(p.serve(mgr), p.reconcile(mgr)); err != nil {
		return err
	}
	if p.webhooks != nil {
		group.Go(func() error { return p.webhooks.Serve(background) })
	}
	p.probes.readyWhen(func(r *http.Request) error {
		switch {
		case ctx.Err() != nil:
			return errStopping
		case p.webhooks == nil:
			// Nobody calls a replica that serves no webhooks. That it is not ready stops a rollout to namespaces that another
			// operator holds, while the replicas from before it work on.
			return lock.Refused()
		}
		return p.certs.Ready(r)
	})
	return explain(mgr.Start(ctx))
}

// publish waits for the CustomResourceDefinitions, makes the API server trust our certificate, and keeps it so from then on.
//
// The certificate is there before the wait: definitions that begin to convert while we wait can then have the caBundle of the
// webhook configurations from their first moment on. Those that got none get it after the wait.
func (p *process) publish(ctx, background context.Context, group *errgroup.Group) error {
	if p.certs == nil {
		if err := awaitCRDs(ctx, p.direct, ofThisRelease, p.probes.notReady); err != nil {
			return err
		}
		return awaitCRDs(ctx, p.direct, established, p.probes.notReady)
	}
	bootstrap := func() error {
		if err := p.certs.Bootstrap(ctx); err != nil {
			return fmt.Errorf("preparing the serving certificate: %w", err)
		}
		return nil
	}
	if err := bootstrap(); err != nil {
		return err
	}
	if err := awaitCRDs(ctx, p.direct, ofThisRelease, p.probes.notReady); err != nil {
		return err
	}
	if err := bootstrap(); err != nil {
		return err
	}
	group.Go(func() error { return p.certs.Run(background) })
	return awaitCRDs(ctx, p.direct, established, p.probes.notReady)
}

// drain waits for the end of the work, gives up readiness, and returns when the shutdown delay is over and the clients have let go
// of their connections, or the background is over. Without a delay nobody is waited for.
func (p *process) drain(work, background context.Context) {
	<-work.Done()
	p.probes.notReady(errStopping)
	if p.webhooks == nil {
		return
	}
	p.webhooks.drain()
	if p.options.shutdownDelay == 0 {
		return
	}
	timer := time.NewTimer(p.options.shutdownDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
		if !p.hurried.Load() {
			p.webhooks.awaitUnused(background)
		}
	case <-background.Done():
	}
}
