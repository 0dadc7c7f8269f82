package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
)

const pluginName = "kubectl-workload"

// displayName is how the user calls the binary: by its own name, or through kubectl.
func displayName(binary string) string {
	if name := strings.TrimSuffix(filepath.Base(binary), ".exe"); name == pluginName || name == completerName {
		return "kubectl workload"
	}
	return "workloadctl"
}

const rootExitCodes = `Exit codes:
  0  done, and nothing is wrong
  1  something failed, or something was found
  2  the command line is wrong, or what it is about could not be looked at`

func newRootCommand(name string) *cobra.Command {
	root := &cobra.Command{
		Use:           strings.ReplaceAll(name, " ", "-"),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		Short:         "Work with WebApps and PodSets",
		Long:          "Work with WebApps and PodSets.\n\n" + rootExitCodes,
		Version:       version(),
		Args:          noArguments,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usagef(cmd, "%v", err) })
	root.AddCommand(newConvertCommand(name), newCRDsCommand(name), newVersionCommand(name))
	root.AddCommand(newValidateCommand(name), newExplainRulesCommand(name))
	root.AddCommand(newMigrateCommand(name), newUninstallCommand(name))
	root.AddCommand(newCheckCommand(name), newDiffCommand(name), newStatusCommand(name), newRolloutCommand(name))
	completeCommands(root)
	explainFaults(root)
	return root
}

// toolAnnotation of the root holds how the user can call this binary again.
const toolAnnotation = "tool"

// toolOf is what printed commands begin with.
func toolOf(cmd *cobra.Command) string {
	root := cmd.Root()
	return cmp.Or(root.Annotations[toolAnnotation], root.DisplayName())
}

// callable is how the user can call the binary again: by its name if the shell finds it under that, else by the path that was typed.
func callable(binary string) string {
	if !strings.ContainsRune(binary, filepath.Separator) {
		return displayName(binary)
	}
	command, _, plugin := strings.Cut(displayName(binary), " ")
	if plugin {
		command = pluginName
	}
	found, err := exec.LookPath(command)
	if err == nil && sameFile(found, binary) {
		return displayName(binary)
	}
	return checkup.Words([]string{binary})
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	other, otherErr := os.Stat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		return usagef(cmd, "unknown command %q", args[0])
	}
	return usagef(cmd, "%s takes no arguments, got %q", cmd.CommandPath(), args[0])
}

// completeFlag makes the shell offer the values of a flag.
func completeFlag(cmd *cobra.Command, flag string, values ...string) {
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}
