package main

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/workload-operator/config"
)

// completerName is the executable that kubectl asks for what comes next in a command line of the plugin.
const completerName = "kubectl_complete-workload"

// asked turns a call of the completer into the one that answers it: the words that were typed are all its arguments.
func asked(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") != completerName {
		return args[1:]
	}
	words := args[1:]
	if len(words) == 0 {
		words = []string{""}
	}
	return append([]string{cobra.ShellCompRequestCmd}, words...)
}

// fileFlags are the flags whose values are files. Shells offer the names of files for them alone.
var fileFlags = []string{"filename", "stored", "kubeconfig"}

// completeCommands has no command offer files but for fileFlags, and the values of flags that choose a cluster offered where there are any.
func completeCommands(cmd *cobra.Command) {
	cmd.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	for _, flag := range fileFlags {
		registerCompletion(cmd, flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		})
	}
	if cmd.Flags().Lookup("kubeconfig") != nil {
		registerCompletion(cmd, "context", fromKubeconfig(func(c *clientcmdapi.Config) []string { return sortedKeys(c.Contexts) }))
		registerCompletion(cmd, "cluster", fromKubeconfig(func(c *clientcmdapi.Config) []string { return sortedKeys(c.Clusters) }))
		registerCompletion(cmd, "user", fromKubeconfig(func(c *clientcmdapi.Config) []string { return sortedKeys(c.AuthInfos) }))
		registerCompletion(cmd, "namespace", completeNamespaces)
	}
	for _, sub := range cmd.Commands() {
		completeCommands(sub)
	}
}

func registerCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if cmd.Flags().Lookup(flag) != nil {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, complete))
	}
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fromKubeconfig offers names that the kubeconfig has.
func fromKubeconfig(names func(*clientcmdapi.Config) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		raw, err := clusterOf(cmd).loader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return beginning(typed, names(&raw)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completionPatience is how long somebody who pressed a key waits for a cluster.
const completionPatience = time.Second

// completeNamespaces offers the namespaces of a cluster that answers at once.
func completeNamespaces(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionPatience)
	defer cancel()
	names, err := clusterOf(cmd).namespaces(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

func (o *clusterOptions) namespaces(ctx context.Context) ([]string, error) {
	restConfig, err := o.interactive()
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, namespace := range list.Items {
		names = append(names, namespace.GetName())
	}
	return names, nil
}

// completeKinds offers the kinds that are not there yet.
func completeKinds(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	given, err := definitionsOf(args)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	crds, err := config.CRDs()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, crd := range crds {
		if len(args) == 0 || !slices.Contains(given, crd.Name) {
			names = append(names, crd.Spec.Names.Singular)
		}
	}
	return beginning(typed, names), cobra.ShellCompDirectiveNoFileComp
}

// completeTarget offers the kinds for KIND/NAME, so that the name can be typed right behind.
func completeTarget(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || strings.Contains(typed, "/") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	kinds, _ := completeKinds(cmd, nil, typed)
	for i := range kinds {
		kinds[i] += "/"
	}
	return kinds, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// beginning are the names that begin with what was typed.
func beginning(typed string, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, typed) })
}
