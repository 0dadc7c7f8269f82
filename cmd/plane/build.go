package main

import (
	"github.com/spf13/cobra"

	"github.com/example/workload-operator/test/controlplane"
)

func newBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Build what control planes are made of, as far as it is missing; up and run do so by themselves",
		Args:  noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			root, err := controlplane.FindRoot()
			if err != nil {
				return err
			}
			return controlplane.BuildFor(cmd.Context(), controlplane.Options{Root: root, Log: cmd.OutOrStdout()})
		},
	}
}
