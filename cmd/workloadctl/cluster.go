package main

import (
	"fmt"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/log"
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

func (o *clusterOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the service account of the Pod)")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig (default: the current one)")
	flags.StringVar(&o.cluster, "cluster", "", "cluster of the kubeconfig (default: that of the context)")
	flags.StringVar(&o.user, "user", "", "user of the kubeconfig (default: that of the context)")
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
		return nil, fmt.Errorf("no connection to a cluster: %w; give --kubeconfig or set KUBECONFIG", err)
	}
	config.UserAgent = "workloadctl/" + version()
	log.SetLogger(logr.Discard()) // clients would complain that there is none
	return config, nil
}

// interactive is the configuration for commands that make a few requests for somebody who waits: they are not held back, and
// warnings of the API server, which are for those who write manifests, are not shown.
func (o *clusterOptions) interactive() (*rest.Config, error) {
	config, err := o.config()
	if err != nil {
		return nil, unreachable(err)
	}
	config.QPS = -1
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	return config, nil
}

// inNamespace is the namespace that was asked for, else that of the context, else default.
func (o *clusterOptions) inNamespace() (string, error) {
	namespace, _, err := o.loader().Namespace()
	if err != nil {
		return "", unreachable(fmt.Errorf("no connection to a cluster: %w", err))
	}
	return namespace, nil
}

// given are the flags by which the user chose the cluster, for commands that are printed to be pasted.
func (o *clusterOptions) given() []string {
	var flags []string
	for _, flag := range []struct{ name, value string }{
		{"kubeconfig", o.kubeconfig}, {"context", o.context}, {"cluster", o.cluster}, {"user", o.user},
	} {
		if flag.value != "" {
			flags = append(flags, "--"+flag.name+"="+flag.value)
		}
	}
	return flags
}
