package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
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
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), name, cmd.OutOrStdout()) },
	}
	addNameFlag(cmd, &name)
	return cmd
}

func runStatus(ctx context.Context, name string, out io.Writer) error {
	dir, err := directoryOf(name)
	if err != nil {
		return err
	}
	if !controlplane.Running(dir) {
		if exists(dir) {
			return fmt.Errorf("plane %q ended without cleaning up: run plane up, or plane down to remove its data", name)
		}
		return fmt.Errorf("plane %q does not run: start it with plane up", name)
	}
	state, err := controlplane.ReadState(dir)
	if err != nil {
		return fmt.Errorf("%w; the plane is just starting: try again", err)
	}
	readiness := "ready"
	if !state.Ready {
		readiness = "starting"
	}
	fmt.Fprintf(out, "plane %q: %s, process %d, up %s\n\n", name, readiness, state.PID, time.Since(state.Started).Round(time.Second))
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
