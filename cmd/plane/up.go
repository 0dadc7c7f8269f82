package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/test/controlplane"
)

// up holds the flags of `plane up`.
type up struct {
	name          string
	nodes         int
	parts         string
	port          int
	kubeconfigOut string
	kubeconfig    string
	detach        bool
	supervisor    bool
}

func newUpCommand() *cobra.Command {
	u := &up{}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start a control plane and keep it until Ctrl-C, building what is missing",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return u.run(cmd.Context(), cmd.OutOrStdout()) },
	}
	addNameFlag(cmd, &u.name)
	flags := cmd.Flags()
	flags.IntVar(&u.nodes, "nodes", 6, "number of fake nodes, spread over three zones")
	flags.StringVar(&u.parts, "parts", "", "parts to start, comma separated, beside etcd and kube-apiserver (default all): "+
		"kube-controller-manager, kube-scheduler, kwok")
	flags.IntVar(&u.port, "port", 0, "port of the API server; 0 picks a free one")
	flags.StringVar(&u.kubeconfigOut, "kubeconfig-out", "", "write the kubeconfig to this file, too")
	flags.StringVar(&u.kubeconfig, "kubeconfig", "", "start nothing, and check that the cluster of this kubeconfig can stand in for a plane")
	flags.BoolVar(&u.detach, "detach", false, "return once the plane is ready; end it with plane down")
	flags.BoolVar(&u.supervisor, "supervisor", false, "keep a detached plane")
	flags.Lookup("supervisor").Hidden = true
	return cmd
}

func (u *up) run(ctx context.Context, out io.Writer) error {
	dir, err := directoryOf(u.name)
	if err != nil {
		return err
	}
	options, err := u.options(dir)
	if err != nil {
		return err
	}
	options.Log = out
	if u.kubeconfig != "" {
		return u.useExisting(ctx, options, out)
	}
	if !u.supervisor && controlplane.Running(dir) { // a supervisor has a report to make, so it finds out in Start
		return u.alreadyRuns(ctx, dir, out)
	}
	if u.detach {
		return u.startDetached(ctx, dir, options, out)
	}
	return u.startHere(ctx, dir, options)
}

// startHere keeps a plane in this process. Its logs stay when it failed: the error names them.
func (u *up) startHere(ctx context.Context, dir string, options controlplane.Options) error {
	out, report := options.Log, u.reporter(options.Log)
	plane, err := controlplane.Start(ctx, options)
	if errors.Is(err, controlplane.ErrRunning) {
		if err = u.alreadyRuns(ctx, dir, out); err == nil {
			report.ready(dir)
			return nil
		}
	}
	if err == nil {
		err = u.copyKubeconfig(plane.Kubeconfig())
	}
	if err != nil {
		report.failed(err)
		return errors.Join(err, stop(plane))
	}
	report.ready(dir)
	if err := keep(ctx, plane, out); err != nil {
		return errors.Join(err, plane.Keep(), plane.Stop())
	}
	return plane.Stop()
}

// options turns the flags into the options of a plane, and refuses what makes no sense.
func (u *up) options(dir string) (controlplane.Options, error) {
	options := controlplane.Options{Dir: dir, Nodes: u.nodes, APIServerPort: u.port, Kubeconfig: u.kubeconfig}
	if u.nodes < 1 || u.nodes > 1000 {
		return options, usageError{fmt.Errorf("--nodes %d: give a number from 1 to 1000, or leave kwok out of --parts", u.nodes)}
	}
	if u.port < 0 || u.port > 65535 {
		return options, usageError{fmt.Errorf("--port %d: give a number from 0 to 65535", u.port)}
	}
	if u.parts == "" {
		return options, nil
	}
	parts, err := controlplane.ParseParts(u.parts)
	if err != nil {
		return options, usageError{fmt.Errorf("--parts: %w", err)}
	}
	options.Parts = parts
	return options, nil
}

// keep waits for the end of a plane: asked for by a signal, or forced by a part that died.
func keep(ctx context.Context, plane *controlplane.Plane, out io.Writer) error {
	select {
	case <-ctx.Done():
		fmt.Fprintln(out, "stopping")
		return nil
	case err := <-plane.Failed():
		return err
	}
}

func stop(plane *controlplane.Plane) error {
	if plane == nil {
		return nil
	}
	return plane.Stop()
}

func (u *up) copyKubeconfig(kubeconfig string) error {
	if u.kubeconfigOut == "" {
		return nil
	}
	content, err := os.ReadFile(kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if err := os.WriteFile(u.kubeconfigOut, content, 0o600); err != nil {
		return fmt.Errorf("--kubeconfig-out: %w; give a path in a directory that exists", err)
	}
	return nil
}

func (u *up) useExisting(ctx context.Context, options controlplane.Options, out io.Writer) error {
	if u.detach {
		return usageError{errors.New("--detach and --kubeconfig exclude each other: with --kubeconfig nothing is started")}
	}
	plane, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "nothing started; the cluster answers")
	printUsage(out, plane.Kubeconfig(), plane.Kubectl())
	return errors.Join(u.copyKubeconfig(plane.Kubeconfig()), plane.Stop())
}

// alreadyRuns prints how to use the plane of that name, once it is ready if it is just starting.
func (u *up) alreadyRuns(ctx context.Context, dir string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	ticks := time.NewTicker(200 * time.Millisecond)
	defer ticks.Stop()
	for {
		if state, err := controlplane.ReadState(dir); err == nil && state.Ready {
			fmt.Fprintf(out, "plane %q already runs; its options stay as they are\n", u.name)
			printUsage(out, state.Kubeconfig, state.Kubectl)
			return u.copyKubeconfig(state.Kubeconfig)
		}
		if !controlplane.Running(dir) {
			return fmt.Errorf("plane %q was just starting, and failed: run %s again", u.name, call("up", u.name))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("plane %q has been starting for long: end it with %s", u.name, call("down", u.name))
		case <-ticks.C:
		}
	}
}

// printUsage tells what to type next.
func printUsage(out io.Writer, kubeconfig, kubectl string) {
	fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", kubeconfig)
	tools := filepath.Dir(kubectl)
	fmt.Fprintf(out, "export PATH=%s:%s:$PATH   # for kubectl and workloadctl\n", tools, filepath.Join(tools, "..", "..", "bin"))
}
