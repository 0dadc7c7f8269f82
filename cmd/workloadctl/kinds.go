package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/config"
)

// typedClient knows our kinds in v1 and those of Kubernetes.
func (o *clusterOptions) typedClient() (client.Client, error) {
	restConfig, err := o.interactive()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, appv1.AddToScheme, batchv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, unreachable(fmt.Errorf("connecting to the cluster: %w", err))
	}
	return c, nil
}

// parseTarget reads KIND/NAME, KIND NAME or, if that is enough, NAME. The kind may be written as kubectl takes it.
func parseTarget(cmd *cobra.Command, args []string) (kind, name string, err error) {
	text := strings.Join(args, "/")
	kind, name, found := strings.Cut(text, "/")
	switch {
	case len(args) > 0 && text == "":
		return "", "", usagef(cmd, "the name is empty")
	case !found:
		return "", text, nil
	case kind == "" || name == "" || strings.Contains(name, "/"):
		return "", "", usagef(cmd, "%q is no KIND/NAME such as webapp/my-app", text)
	}
	crds, err := definitionsOf([]string{kind})
	if err != nil {
		return "", "", usagef(cmd, "%s", err)
	}
	all, err := config.CRDs()
	for _, crd := range all {
		if crd.Name == crds[0] {
			return crd.Spec.Names.Kind, name, nil
		}
	}
	return "", "", err
}
