package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/test/controlplane"
)

// downTimeout is how long a plane may take to end before it is ended by force.
const downTimeout = 15 * time.Second

func newDownCommand() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Stop a control plane and remove its data",
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDown(cmd.Context(), name, cmd.OutOrStdout()) },
	}
	addNameFlag(cmd, &name)
	return cmd
}

func runDown(ctx context.Context, name string, out io.Writer) error {
	dir, err := directoryOf(name)
	if err != nil {
		return err
	}
	if controlplane.Running(dir) {
		if err := end(ctx, dir); err != nil {
			return err
		}
		fmt.Fprintf(out, "plane %q stopped\n", name)
		return removeLog(dir)
	}
	if !exists(dir) {
		fmt.Fprintf(out, "plane %q does not run\n", name)
		return removeLog(dir)
	}
	if err := controlplane.Discard(ctx, dir); err != nil {
		return err
	}
	fmt.Fprintf(out, "plane %q had ended without cleaning up; its data is removed\n", name)
	return removeLog(dir)
}

// removeLog removes what a plane in the background left to read.
func removeLog(dir string) error {
	if err := os.Remove(controlplane.LogOf(dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("removing the log of the plane: %w", err)
	}
	return nil
}

// end asks the owner of a plane to end it, then makes it. The number in the state belongs to the owner as long as
// the claim on the directory is held.
func end(ctx context.Context, dir string) error {
	state, err := controlplane.ReadState(dir)
	if err != nil {
		return fmt.Errorf("%w; the plane is just starting: try again", err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if err := syscall.Kill(state.PID, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending process %d, which owns the plane: %w", state.PID, err)
		}
		ended, err := waitEnded(ctx, dir)
		if err != nil {
			return err
		}
		if !ended {
			continue
		}
		if exists(dir) {
			return controlplane.Discard(ctx, dir)
		}
		return nil
	}
	return fmt.Errorf("process %d, which owns the plane, does not end: look at it with ps", state.PID)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func waitEnded(ctx context.Context, dir string) (bool, error) {
	timeout := time.After(downTimeout)
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for controlplane.Running(dir) {
		select {
		case <-ctx.Done():
			return false, fmt.Errorf("waiting for the end of the plane: %w", context.Cause(ctx))
		case <-timeout:
			return false, nil
		case <-ticks.C:
		}
	}
	return true, nil
}
