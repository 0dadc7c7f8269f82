package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/test/controlplane"
)

func newStatusCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the parts of a control plane, their health and how to use it; fails if it does not run",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runStatus(cmd.Context(), name, cmd.Flags().Changed("name"), cmd.OutOrStdout())
		},
	}
	addNameFlag(cmd, &name)
	return cmd
}

func runStatus(ctx context.Context, name string, asked bool, out io.Writer) error {
	dir, err := directoryOf(name)
	if err != nil {
		return err
	}
	switch {
	case controlplane.Running(dir):
		return showStatus(ctx, fmt.Sprintf("plane %q", name), dir, out)
	case exists(dir):
		return fmt.Errorf("plane %q ended without cleaning up: run %s, or %s to remove its data", name, call("up", name), call("down", name))
	case asked:
		return fmt.Errorf("plane %q does not run: start it with %s", name, call("up", name))
	}
	return showOthers(ctx, out)
}

// showOthers shows the planes that have no name, such as that of make run, and names those that have one.
func showOthers(ctx context.Context, out io.Writer) error {
	root, err := controlplane.FindRoot()
	if err != nil {
		return err
	}
	named, unnamed, err := controlplane.RunningPlanes(root)
	if err != nil {
		return err
	}
	hint := ""
	for _, dir := range named {
		hint += fmt.Sprintf("; plane %q runs: %s", filepath.Base(dir), call("status", filepath.Base(dir)))
	}
	if len(unnamed) == 0 {
		return fmt.Errorf("plane %q does not run: start it with %s%s", defaultName, call("up", defaultName), hint)
	}
	var errs []error
	for i, dir := range unnamed {
		if i > 0 {
			fmt.Fprintln(out)
		}
		errs = append(errs, showStatus(ctx, "plane without a name (of make run, or of a test)", dir, out))
	}
	return errors.Join(errs...)
}

func showStatus(ctx context.Context, title, dir string, out io.Writer) error {
	state, err := controlplane.ReadState(dir)
	if err != nil {
		return fmt.Errorf("%w; the plane is just starting: try again", err)
	}
	readiness := "ready"
	if !state.Ready {
		readiness = "starting"
	}
	fmt.Fprintf(out, "%s: %s, process %d, up %s\n\n", title, readiness, state.PID, time.Since(state.Started).Round(time.Second))
	sick := printParts(ctx, out, state)
	fmt.Fprintf(out, "\naudit log: %s\n", state.AuditLog)
	printUsage(out, state.Kubeconfig, state.Kubectl)
	if sick > 0 {
		return fmt.Errorf("%d of %d parts are not healthy: see their logs in %s", sick, len(state.Parts), dir+"/logs")
	}
	return nil
}

// printParts prints a table of the parts, and returns how many are not healthy.
func printParts(ctx context.Context, out io.Writer, state controlplane.State) (sick int) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PART\tHEALTH\tPROCESS\tPORT\tVERSION")
	for _, part := range state.Parts {
		health := "ok"
		if err := state.CheckHealth(ctx, part.Name); err != nil {
			sick++
			health = err.Error()
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", part.Name, health, part.PID, part.Port, versionOf(ctx, part.Binary))
	}
	table.Flush()
	return sick
}

var versionForm = regexp.MustCompile(`v?\d+\.\d+\.\d+\S*`)

// versionOf asks a binary for its version.
func versionOf(ctx context.Context, binary string) string {
	output, err := exec.CommandContext(ctx, binary, "--version").Output()
	if err != nil {
		return "unknown"
	}
	return string(versionForm.Find(output))
}
