package main

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterOptions say which cluster a command works on. Without any, it is the one that kubectl would take.
type clusterOptions struct {
	kubeconfig string
	context    string
}

func (o *clusterOptions) bind(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config, then the service account of the Pod)")
	flags.StringVar(&o.context, "context", "", "context of the kubeconfig (default: the current one)")
}

func (o *clusterOptions) config() (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: o.context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no connection to a cluster: %w; give --kubeconfig or set KUBECONFIG", err)
	}
	config.UserAgent = "workloadctl/" + version()
	return config, nil
}
