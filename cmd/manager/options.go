package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/workload-operator/cmd/manager/internal/claims"
	"github.com/example/workload-operator/webhooks/certs"
)

const (
	defaultWebhookService = "workload-operator-webhook-service"
	// webhookServiceSuffix is what kustomize and the chart put after their prefix.
	webhookServiceSuffix = "webhook-service"
	// namespaceFile is where Kubernetes mounts the namespace of a Pod's service account.
	namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
	// minLifetime of a certificate: shorter ones are renewed faster than API servers and replicas follow.
	minLifetime = time.Minute
)

// options are the flags, checked and completed.
type options struct {
	metricsAddress string
	metricsSecure  bool
	probeAddress   string

	webhookHost             string
	webhookPort             int
	webhookService          string
	validatingConfiguration string
	mutatingConfiguration   string
	certificateSecret       string
	certificateMode         string
	lifetimes               certs.Lifetimes
	connectionAge           time.Duration
	tlsVersion              string

	namespace        string
	leaderElect      bool
	leaderElectionID string
	shutdownDelay    time.Duration

	shard string
	claim claims.Claim

	autoMigrate bool
	concurrency int
	kubeQPS     float64
	kubeBurst   int

	zap zap.Options
	// structured says that JSON was asked for, rather than not refused.
	structured bool
	version    bool
}

func (o *options) bind(flags *flag.FlagSet) {
	flags.StringVar(&o.metricsAddress, "metrics-bind-address", ":8443", "`address` of the metrics endpoint; 0 turns it off")
	flags.BoolVar(&o.metricsSecure, "metrics-secure", true, "serve metrics by HTTPS to clients that the API server authenticates and authorizes")
	flags.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "`address` of /healthz and /readyz")

	flags.StringVar(&o.webhookHost, "webhook-bind-address", "", "`host` or IP that the webhook server listens on; empty means every address")
	flags.IntVar(&o.webhookPort, "webhook-port", 10250, "`port` of the webhook server; 0 takes a free one")
	flags.StringVar(&o.webhookService, "webhook-service", defaultWebhookService, "`name` of the Service through which the API server calls the webhooks")
	flags.StringVar(&o.validatingConfiguration, "validating-webhook-configuration", "",
		"`name` of the ValidatingWebhookConfiguration to keep the caBundle of (default: beside --webhook-service, with the same prefix)")
	flags.StringVar(&o.mutatingConfiguration, "mutating-webhook-configuration", "",
		"`name` of the MutatingWebhookConfiguration to keep the caBundle of (default: beside --webhook-service, with the same prefix)")
	flags.StringVar(&o.certificateSecret, "certificate-secret", "workload-operator-webhook-certs", "`name` of the Secret that holds the serving certificate")
	flags.StringVar(&o.certificateMode, "certificate-mode", string(certs.ModeAuto),
		"who makes the serving certificate: self-managed, cert-manager or provided; auto is what the Secret and the webhook configurations show")
	flags.DurationVar(&o.lifetimes.Leaf, "certificate-lifetime", certs.DefaultLeafLifetime, "life of a self-managed serving certificate; renewed after two thirds of it")
	flags.DurationVar(&o.lifetimes.Authority, "authority-lifetime", certs.DefaultAuthorityLifetime, "life of a self-managed authority; replaced after two thirds of it")
	flags.DurationVar(&o.lifetimes.Settle, "authority-overlap", certs.DefaultSettle, "how long old and new authority are both trusted before, and again after, the certificate changes")
	flags.DurationVar(&o.connectionAge, "webhook-connection-age", 10*time.Minute,
		"how long a client may keep a connection before it is asked to make a new one, which spreads the API server's calls over the replicas; 0 is for ever")
	flags.StringVar(&o.tlsVersion, "tls-min-version", "1.3", "lowest TLS `version` that the servers accept: 1.2 or 1.3")

	flags.StringVar(&o.namespace, "namespace", "", "`namespace` of the operator (default: POD_NAMESPACE, then that of the service account)")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "reconcile only while holding the Lease; needed with more than one replica")
	flags.StringVar(&o.leaderElectionID, "leader-election-id", "workload-operator.example.com", "`name` of the Lease")
	flags.DurationVar(&o.shutdownDelay, "shutdown-delay", 10*time.Second,
		"how long the webhooks are served on, at least, after a signal to stop, while clients learn to go elsewhere; "+
			"connections that a client keeps open are served for up to 95 seconds more; 0 waits for nobody")

	bindShard(flags, o)
	flags.BoolVar(&o.autoMigrate, "auto-migrate", true,
		"rewrite stored objects when the storage version of a kind has changed; otherwise only report that it is due")
	flags.IntVar(&o.concurrency, "concurrency", 4, "`objects` of each kind that are reconciled at the same time")
	// A new WebApp costs two writes of its status and one of each child, and the limits count per kind of object: these hold back
	// only what a thousand objects at once would send. The API server's own priority and fairness protects it.
	flags.Float64Var(&o.kubeQPS, "kube-api-qps", 200, "`requests` per second and kind of object to the API server, on average")
	flags.IntVar(&o.kubeBurst, "kube-api-burst", 400, "`requests` per kind of object to the API server at once")

	flags.BoolVar(&o.version, "version", false, "print the version and exit")
	config.RegisterFlags(flags)
	o.zap.BindFlags(flags)
}

func newFlagSet(o *options) *flag.FlagSet {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	o.bind(flags)
	return flags
}

// usage prints every flag with its default.
func usage(w io.Writer) {
	flags := newFlagSet(&options{})
	flags.SetOutput(w)
	fmt.Fprintln(w, "manager serves the conversion and admission webhooks of WebApp and PodSet and reconciles both.\n"+
		"manager uninstall prepares a cluster for the removal of the operator; it has flags of its own.\n\nFlags:")
	flags.PrintDefaults()
}

// parse reads the command line and its surroundings. The error is flag.ErrHelp when help was asked for.
func parse(args []string, getenv func(string) string, readFile func(string) ([]byte, error)) (*options, error) {
	o := &options{}
	flags := newFlagSet(o)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.version {
		return o, nil
	}
	flags.Visit(func(f *flag.Flag) {
		o.structured = o.structured || f.Name == "zap-encoder" && f.Value.String() == "json"
	})
	o.complete(getenv, readFile)
	o.completeShard(flags)
	return o, errors.Join(o.validate(), o.validateShard())
}

// complete fills in what follows from other flags or from the Pod.
func (o *options) complete(getenv func(string) string, readFile func(string) ([]byte, error)) {
	if o.namespace == "" {
		o.namespace = getenv("POD_NAMESPACE")
	}
	if o.namespace == "" {
		// Absent outside a cluster: validate says what to do then.
		content, _ := readFile(namespaceFile)
		o.namespace = strings.TrimSpace(string(content))
	}
	prefix := strings.TrimSuffix(o.webhookService, webhookServiceSuffix)
	if o.validatingConfiguration == "" {
		o.validatingConfiguration = prefix + "validating-webhook-configuration"
	}
	if o.mutatingConfiguration == "" {
		o.mutatingConfiguration = prefix + "mutating-webhook-configuration"
	}
}

func (o *options) validate() error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	refuse(o.namespace == "", "the namespace is unknown: give --namespace or set POD_NAMESPACE")
	refuse(o.metricsAddress != "0" && !isAddress(o.metricsAddress), "--metrics-bind-address %q is not host:port, :port or 0", o.metricsAddress)
	refuse(!isAddress(o.probeAddress), "--health-probe-bind-address %q is not host:port or :port", o.probeAddress)
	refuse(o.webhookPort < 0 || o.webhookPort > 65535, "--webhook-port %d is not between 0 and 65535", o.webhookPort)
	refuse(o.webhookService == "", "--webhook-service is empty")
	refuse(o.certificateSecret == "", "--certificate-secret is empty")
	refuse(!slices.Contains(certs.Modes(), certs.Mode(o.certificateMode)), "--certificate-mode %q is not one of %v", o.certificateMode, certs.Modes())
	refuse(o.lifetimes.Settle <= 0, "--authority-overlap %s is not positive", o.lifetimes.Settle)
	refuse(o.lifetimes.Leaf < minLifetime, "--certificate-lifetime %s is less than %s", o.lifetimes.Leaf, minLifetime)
	refuse(o.lifetimes.Authority < o.lifetimes.Leaf+2*o.lifetimes.Settle,
		"--authority-lifetime %s is less than --certificate-lifetime and twice --authority-overlap", o.lifetimes.Authority)
	refuse(o.connectionAge < 0, "--webhook-connection-age %s is negative", o.connectionAge)
	refuse(o.leaderElect && o.leaderElectionID == "", "--leader-election-id is empty")
	refuse(tlsVersions[o.tlsVersion] == 0, "--tls-min-version %q is neither 1.2 nor 1.3", o.tlsVersion)
	refuse(o.shutdownDelay < 0, "--shutdown-delay %s is negative", o.shutdownDelay)
	refuse(o.concurrency < 1, "--concurrency %d is less than 1", o.concurrency)
	refuse(o.kubeQPS <= 0, "--kube-api-qps %g is not positive", o.kubeQPS)
	refuse(o.kubeBurst < 1, "--kube-api-burst %d is less than 1", o.kubeBurst)
	return errors.Join(errs...)
}

var tlsVersions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

func isAddress(s string) bool {
	_, port, err := net.SplitHostPort(s)
	if err != nil {
		return false
	}
	number, err := strconv.ParseUint(port, 10, 16)
	return err == nil && number <= 65535
}
