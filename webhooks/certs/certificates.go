package certs

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Defaults of Lifetimes.
const (
	DefaultAuthorityLifetime = 10 * 365 * 24 * time.Hour
	DefaultLeafLifetime      = 90 * 24 * time.Hour
	DefaultSettle            = 5 * time.Minute
)

// Options say which objects the certificate is kept in and published to.
type Options struct {
	// Namespace and SecretName name the Secret.
	Namespace, SecretName string
	// ServiceName is the Service in Namespace through which the API server calls the webhooks.
	ServiceName string
	// CRDs, ValidatingWebhookConfigurations and MutatingWebhookConfigurations name the objects whose caBundle is kept. One that
	// does not exist is left out until it does.
	CRDs, ValidatingWebhookConfigurations, MutatingWebhookConfigurations []string
	// Address is the host and port that the webhook server listens on, for the readiness check to dial.
	Address string
	// Mode says who makes the certificate; ModeAuto when empty.
	Mode Mode
	// Lifetimes are those of a self-managed certificate; zero values mean the defaults. Settle matters in every mode.
	Lifetimes Lifetimes
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Certificates holds the serving certificate of one replica. Make one with New, call Bootstrap before anything needs the
// webhooks, then Run for the life of the process.
type Certificates struct {
	options Options
	names   []string
	client  client.WithWatch

	secret  *watched
	targets []*watched
	wake    chan struct{}
	synced  atomic.Bool
	leading atomic.Bool

	serving atomic.Pointer[material]
	// problem is what is wrong with the Secret, nil when nothing is.
	problem atomic.Pointer[Violation]
	trust   trust

	// These belong to the goroutine of Bootstrap and then Run.
	mode         Mode
	bundles      string
	bundlesSince time.Time
	differsSince time.Time
}

// NewClient returns the client that New needs. It reads from the API server directly: the caches of the manager cannot be
// filled before the certificate is in place.
func NewClient(config *rest.Config) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme of the certificate client: %w", err)
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

// New returns Certificates that hold none yet.
func New(c client.WithWatch, o Options) *Certificates {
	o.Mode = cmp.Or(o.Mode, ModeAuto)
	o.Lifetimes.Authority = cmp.Or(o.Lifetimes.Authority, DefaultAuthorityLifetime)
	o.Lifetimes.Leaf = cmp.Or(o.Lifetimes.Leaf, DefaultLeafLifetime)
	o.Lifetimes.Settle = cmp.Or(o.Lifetimes.Settle, DefaultSettle)
	if o.Now == nil {
		o.Now = time.Now
	}
	host := o.ServiceName + "." + o.Namespace + ".svc"
	certificates := &Certificates{
		options: o,
		// The API server asks for the first; the second is for clients that resolve the Service themselves.
		names:  []string{host, host + ".cluster.local"},
		client: c,
		secret: watchedSecret(o.Namespace, o.SecretName),
		wake:   make(chan struct{}, 1),
	}
	for _, name := range o.CRDs {
		certificates.targets = append(certificates.targets, watchedCRD(name))
	}
	for _, name := range o.ValidatingWebhookConfigurations {
		certificates.targets = append(certificates.targets, watchedValidating(name))
	}
	for _, name := range o.MutatingWebhookConfigurations {
		certificates.targets = append(certificates.targets, watchedMutating(name))
	}
	return certificates
}

// GetCertificate is for tls.Config: the certificate as it is at this moment.
func (c *Certificates) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	m := c.serving.Load()
	if m == nil {
		return nil, c.nothingYet()
	}
	return m.pair, nil
}

// Lead makes this replica the one that changes the Secret and repairs the targets, until the context ends. It is meant to be
// added to a manager as a runnable that needs leader election.
func (c *Certificates) Lead(ctx context.Context) error {
	c.leading.Store(true)
	c.poke()
	<-ctx.Done()
	c.leading.Store(false)
	return nil
}

func (c *Certificates) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Certificates) secretName() string {
	return "Secret " + c.options.Namespace + "/" + c.options.SecretName
}

// nothingYet is the error of a replica that has no certificate to serve.
func (c *Certificates) nothingYet() error {
	if v := c.problem.Load(); v != nil {
		return fmt.Errorf("no serving certificate yet: %s: %w", c.secretName(), v)
	}
	return fmt.Errorf("no serving certificate yet: waiting for %s", c.secretName())
}

// decide settles on the mode for what was found, and tells when it changes.
func (c *Certificates) decide(ctx context.Context, secret *corev1.Secret, targets []client.Object) Mode {
	mode, why := c.options.Mode, "asked for"
	if mode == ModeAuto {
		mode, why = choose(c.mode, secret, targets)
	}
	if mode != c.mode {
		log.FromContext(ctx).Info("Chose the certificate mode", "mode", mode, "because", why)
	}
	c.mode = mode
	return mode
}

// observation is the input of every decision, for the Secret as given.
func (c *Certificates) observation(secret *corev1.Secret, targets []client.Object) Observation {
	o := Observation{serving: c.serving.Load(), names: c.names, published: true, now: c.options.Now()}
	if sum := sumOf(targets); sum != c.bundles || c.bundlesSince.IsZero() {
		c.bundles, c.bundlesSince = sum, o.now
	}
	o.bundlesSince = c.bundlesSince
	o.servingTrusted = allVouch(targets, o.serving, o.now)
	if secret == nil {
		return o
	}
	o.secret = decode(secret.Data)
	o.secretTrusted = allVouch(targets, o.secret, o.now)
	bundle := o.secret.bundlePEM()
	for _, target := range targets {
		o.published = o.published && holds(target, bundle)
	}
	return o
}
