package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/test/controlplane"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), endSignals()...)
	err := newCommand().ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "Error:", strings.ReplaceAll(err.Error(), "\n", "; "))
	if _, usage := errors.AsType[usageError](err); usage {
		os.Exit(exitUsage)
	}
	os.Exit(exitFailure)
}

// endSignals also end a plane whose terminal is closed, unless it was started with nohup.
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:           "plane",
		Short:         "Run a real Kubernetes control plane on this machine",
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w (see %s --help)", err, cmd.CommandPath())}
	})
	root.AddCommand(newBuildCommand(), newUpCommand(), newDownCommand(), newStatusCommand(), newRunCommand())
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return usageError{fmt.Errorf("unknown command %q (see %s --help)", args[0], cmd.CommandPath())}
	}
	return usageError{fmt.Errorf("%s takes no arguments, got %q (see %s --help)", cmd.CommandPath(), args[0], cmd.CommandPath())}
}

const defaultName = "default"

func addNameFlag(cmd *cobra.Command, name *string) {
	cmd.Flags().StringVar(name, "name", defaultName, "name of the plane; several may run at once")
}

// call is the command for the plane of that name.
func call(verb, name string) string {
	if name == defaultName {
		return "plane " + verb
	}
	return "plane " + verb + " --name " + name
}

var nameForm = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,40}[a-z0-9])?$`)

// directoryOf returns the directory of the plane of that name.
func directoryOf(name string) (string, error) {
	reserved := []string{"bin", "build", "run"} // other directories beside those of planes
	if !nameForm.MatchString(name) || slices.Contains(reserved, name) {
		return "", usageError{fmt.Errorf("--name %q: use up to 42 lower case letters, digits and dashes, and none of %v", name, reserved)}
	}
	root, err := controlplane.FindRoot()
	if err != nil {
		return "", err
	}
	return controlplane.NamedDir(root, name), nil
}
