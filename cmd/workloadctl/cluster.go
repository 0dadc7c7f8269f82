package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
)

// clusterOptions say which cluster a command works on. Without any, it is the one that kubectl would take. The flags are kubectl's.
type clusterOptions struct {
	kubeconfig string
	context    string
	cluster    string
	user       string
	// namespace has its flag only where a command works in one, see bindNamespace.
	namespace string
}

// clusterFlag is one of the flags that choose a cluster.
type clusterFlag struct {
	name  string
	value *string
	usage string
}

func (o *clusterOptions) flags() []clusterFlag {
	return []clusterFlag{
		{"kubeconfig", &o.kubeconfig, "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the service account of the Pod)"},
		{"context", &o.context, "context of the kubeconfig (default: the current one)"},
		{"cluster", &o.cluster, "cluster of the kubeconfig (default: that of the context)"},
		{"user", &o.user, "user of the kubeconfig (default: that of the context)"},
	}
}

func (o *clusterOptions) bind(flags *pflag.FlagSet) {
	for _, flag := range o.flags() {
		flags.StringVar(flag.value, flag.name, "", flag.usage)
	}
}

func (o *clusterOptions) bindNamespace(flags *pflag.FlagSet, usage string) {
	flags.StringVarP(&o.namespace, "namespace", "n", "", usage)
}

func (o *clusterOptions) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	overrides.Context.Cluster, overrides.Context.AuthInfo, overrides.Context.Namespace = o.cluster, o.user, o.namespace
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

func (o *clusterOptions) config() (*rest.Config, error) {
	config, err := o.loader().ClientConfig()
	if err != nil {
		return nil, connectionError{err}
	}
	config.UserAgent = "workloadctl/" + version()
	// What libraries log is said by the errors that they return, and clients would complain that there is no logger.
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	return config, nil
}

// interactive is the configuration for commands that make a few requests for somebody who waits: they are not held back, and
// warnings of the API server, which are for those who write manifests, are not shown.
func (o *clusterOptions) interactive() (*rest.Config, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	return config, nil
}

// inNamespace is the namespace that was asked for, else that of the context, else default.
func (o *clusterOptions) inNamespace() (string, error) {
	namespace, _, err := o.loader().Namespace()
	if err != nil {
		return "", connectionError{err}
	}
	return namespace, nil
}

// connectionError is a kubeconfig that leads to no cluster.
type connectionError struct{ error }

// misled says in one line why the kubeconfig leads to no cluster, and what to type next.
func (o *clusterOptions) misled(err error) string {
	files := o.loader().ConfigAccess().GetLoadingPrecedence()
	if o.kubeconfig != "" {
		files = []string{o.kubeconfig}
	}
	file := strings.Join(files, ", ")
	there := slices.ContainsFunc(files, func(name string) bool { _, err := os.Stat(name); return err == nil })
	said := strings.Trim(strings.TrimPrefix(oneLine(err.Error()), "invalid configuration: "), "[]")
	switch {
	case !there:
		return "no cluster to work on: there is no kubeconfig " + file + "; give one with --kubeconfig or KUBECONFIG"
	case clientcmd.IsContextNotFound(err), strings.HasPrefix(said, "context "):
		return fmt.Sprintf("no cluster to work on: there is no context %q in %s; kubectl config get-contexts lists them", o.context, file)
	case clientcmd.IsEmptyConfig(err):
		return "no cluster to work on: " + file + " has no current context; choose one with --context, or kubectl config use-context"
	}
	return "no cluster to work on: " + file + ": " + said + "; kubectl config view shows what it has"
}

// place is where the API server is, and how it was chosen.
func (o *clusterOptions) place() string {
	loader := o.loader()
	config, err := loader.ClientConfig()
	if err != nil {
		return "an unknown address"
	}
	raw, err := loader.RawConfig()
	if err != nil || len(raw.Contexts) == 0 {
		return config.Host + " (that of the Pod)"
	}
	return fmt.Sprintf("%s (context %q)", config.Host, cmp.Or(o.context, raw.CurrentContext))
}

// untilInterrupted is a context that ends with the first signal to stop. The second one ends the process.
func untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// commands writes commands that work on the same cluster.
func (o *clusterOptions) commands(tool string) checkup.Commands {
	return checkup.Commands{Tool: tool, Flags: o.given()}
}

// given are the flags by which the user chose the cluster, for commands that are printed to be pasted.
func (o *clusterOptions) given() []string {
	var flags []string
	for _, flag := range o.flags() {
		if *flag.value != "" {
			flags = append(flags, "--"+flag.name+"="+*flag.value)
		}
	}
	return flags
}
