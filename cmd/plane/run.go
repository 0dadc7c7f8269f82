package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// cleanupTimeout bounds what is done in a cluster of somebody else after the tour.
const cleanupTimeout = time.Minute

// run holds the flags of `plane run`.
type run struct {
	once    bool
	cluster string
	manager string
	host    string
}

const (
	ownCluster     = "plane"
	currentCluster = "current"
)

func newRunCommand() *cobra.Command {
	r := &run{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Start a control plane with the operator on it, show what it does, and keep both until Ctrl-C",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.once, "once", false, "end after the tour; fails if a step had another result than expected")
	flags.StringVar(&r.cluster, "cluster", ownCluster, "plane: a control plane of its own; current: the cluster of the current kubeconfig")
	flags.StringVar(&r.manager, "manager", "", "path of the manager (default bin/manager)")
	flags.StringVar(&r.host, "webhook-host", "localhost", "name under which the API server reaches this machine")
	return cmd
}

func (r *run) run(ctx context.Context, out io.Writer) error {
	root, err := controlplane.FindRoot()
	if err != nil {
		return err
	}
	o, err := operator.New(operator.Options{Root: root, Manager: r.manager, Host: r.host})
	if err != nil {
		return err
	}
	options := controlplane.Options{Root: root, Log: out}
	switch r.cluster {
	case ownCluster:
	case currentCluster:
		kubeconfig, err := currentKubeconfig()
		if err != nil {
			return err
		}
		defer os.RemoveAll(filepath.Dir(kubeconfig))
		options.Kubeconfig = kubeconfig
	default:
		return usageError{fmt.Errorf("--cluster %q: give plane or current", r.cluster)}
	}
	plane, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	err = r.on(ctx, plane, o, root, out)
	if ctx.Err() != nil && !r.once {
		err = nil // Ctrl-C is how this command ends
	}
	if err != nil {
		err = errors.Join(err, plane.Keep()) // the logs tell more
	}
	return errors.Join(err, plane.Stop())
}

// on installs the operator on a plane, shows it, keeps it and cleans up.
func (r *run) on(ctx context.Context, plane *controlplane.Plane, o *operator.Operator, root string, out io.Writer) error {
	if err := o.On(ctx, plane); err != nil {
		return err
	}
	if r.cluster == ownCluster {
		return r.show(ctx, plane, o, root, out)
	}
	if err := refuseExisting(ctx, o); err != nil {
		return err
	}
	err := r.show(ctx, plane, o, root, out)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	fmt.Fprintln(out, "removing what was installed")
	return errors.Join(err, o.Uninstall(ctx))
}

// show installs the operator, starts the manager, runs the tour and waits for the end.
func (r *run) show(ctx context.Context, plane *controlplane.Plane, o *operator.Operator, root string, out io.Writer) error {
	fmt.Fprintln(out, "installing the operator from config/default")
	if err := o.Install(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "starting the manager as its service account")
	if err := o.Start(ctx); err != nil {
		return err
	}
	err := show(ctx, o.Kubectl, root, out)
	if err != nil {
		err = fmt.Errorf("%w\nlog of the manager: %s", err, o.Log())
	}
	if !r.once && ctx.Err() == nil {
		if err != nil {
			fmt.Fprintln(out, "Error:", err)
		}
		printUsage(out, plane.Kubeconfig(), plane.Kubectl())
		fmt.Fprintf(out, "tail -f %s   # log of the manager\n", o.Log())
		fmt.Fprintln(out, "\nrunning until Ctrl-C")
		err = r.wait(ctx, plane, o)
	}
	return errors.Join(err, o.Stop())
}

func (r *run) wait(ctx context.Context, plane *controlplane.Plane, o *operator.Operator) error {
	select {
	case <-ctx.Done():
		return nil
	case <-o.Done():
		return o.Ended()
	case err := <-plane.Failed():
		return err
	}
}

// refuseExisting protects a cluster that has the operator, or part of it, already: at the end of the run it would be
// removed, and every WebApp and PodSet with it.
func refuseExisting(ctx context.Context, o *operator.Operator) error {
	existing, err := o.Existing(ctx)
	if err != nil {
		return err
	}
	if len(existing) > 0 {
		return fmt.Errorf("the cluster has %s already, which this command would remove at its end: remove them yourself "+
			"(kubectl delete -k config/default removes all, and every WebApp and PodSet), or use another cluster", strings.Join(existing, ", "))
	}
	return nil
}

// currentKubeconfig writes the current context of the user's kubeconfig, complete in itself, to a file of its own.
func currentKubeconfig() (string, error) {
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	if err == nil && config.CurrentContext == "" {
		err = errors.New("there is none, or it has no current context")
	}
	if err == nil {
		err = errors.Join(clientcmdapi.MinifyConfig(config), clientcmdapi.FlattenConfig(config))
	}
	if err != nil {
		return "", fmt.Errorf("reading the current kubeconfig: %w; set KUBECONFIG, or leave CLUSTER out", err)
	}
	dir, err := os.MkdirTemp("", "workload-run-")
	if err != nil {
		return "", fmt.Errorf("creating a directory for the kubeconfig: %w", err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		return "", errors.Join(fmt.Errorf("writing a kubeconfig: %w", err), os.RemoveAll(dir))
	}
	return path, nil
}
