package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/config/guard"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/controllers/migration/uninstall"
)

const uninstallHelp = `Make the cluster independent of the operator, so that it can be removed: CustomResourceDefinitions and all objects stay, v1
stays readable and writable, and namespaces can be deleted. Running Pods are left alone.

  1. every object is migrated to v1
  2. v1alpha1 is not served any more, and what its clients left in managedFields is translated
  3. the definitions have v1 alone and convert nothing
  4. the operator's webhook configurations are removed

Run it while the operator runs, and remove the operator afterwards, with helm uninstall or make undeploy. Stopped at any point and
called again, it goes on. Installing a release again, with its definitions, brings everything back.

` + migrateExitCodes

type uninstallOptions struct {
	migrateOptions

	yes    bool
	dryRun bool
}

func newUninstallCommand(name string) *cobra.Command {
	o := &uninstallOptions{}
	cmd := &cobra.Command{
		Use:     "uninstall",
		Short:   "Prepare a cluster for the removal of the operator; objects stay",
		Long:    uninstallHelp,
		Example: fmt.Sprintf("  %[1]s uninstall --dry-run\n  %[1]s uninstall && helm uninstall workload-operator -n workload-operator-system", name),
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilInterrupted(cmd.Context())
			defer stop()
			if err := o.check(cmd); err != nil {
				return err
			}
			return inTime(ctx, o.uninstall(ctx, cmd))
		},
	}
	flags := cmd.Flags()
	o.bind(flags)
	flags.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and do nothing")
	flags.Float32Var(&o.engine.QPS, "qps", politeQPS, "requests per second")
	flags.DurationVar(&o.engine.SettleDelay, "settle", migration.DefaultSettleDelay, "how long to wait after each change of a definition")
	return cmd
}

func (o *uninstallOptions) uninstall(ctx context.Context, cmd *cobra.Command) error {
	u, err := o.prepare(ctx, cmd)
	if err != nil {
		return err
	}
	steps, err := u.Steps(ctx)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(steps) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is left to do: the operator can be removed.")
		return err
	}
	for _, step := range steps {
		fmt.Fprintln(out, "-", step.Says)
	}
	if o.dryRun {
		return nil
	}
	if err := o.confirm(cmd); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.Do(ctx); err != nil {
			return fmt.Errorf("%s: %w; run the command again to go on", step.Says, err)
		}
		fmt.Fprintln(out, "done:", step.Says)
	}
	_, err = fmt.Fprintln(out, "The operator can be removed now: helm uninstall, or make undeploy.")
	return err
}

// confirm asks on a terminal, unless told not to.
func (o *uninstallOptions) confirm(cmd *cobra.Command) error {
	if o.yes {
		return nil
	}
	if !isTerminal(cmd.InOrStdin()) {
		return usagef(cmd, "nobody can be asked: give --yes")
	}
	fmt.Fprint(cmd.ErrOrStderr(), "v1alpha1 will not be served any more. Go on? [y/N] ")
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if !slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer))) {
		return errors.New("nothing was done")
	}
	return nil
}

func (o *uninstallOptions) prepare(ctx context.Context, cmd *cobra.Command) (*uninstall.Uninstaller, error) {
	log.SetLogger(logr.Discard()) // the client of the steps would complain that there is none
	restConfig, err := o.config()
	if err != nil {
		return nil, err
	}
	shown := newDisplay(cmd.ErrOrStderr(), formatTable)
	o.engine.Observe = shown.observe
	all, err := definitionsOf(nil)
	if err != nil {
		return nil, err
	}
	engine, err := o.connect(ctx, all)
	if err != nil {
		return nil, err
	}
	return uninstall.New(restConfig, uninstall.Options{Judge: guard.Check, Migrate: func(ctx context.Context, crds []string) error {
		for _, crd := range crds {
			report, err := engine.Run(ctx, crd)
			shown.end()
			if err != nil {
				return err
			}
			if !report.Complete() {
				return errors.Join(writeReports(cmd.OutOrStdout(), []*migration.Report{report}, formatTable),
					fmt.Errorf("%d objects of %s could not be migrated", report.Refused+report.Stale, crd))
			}
		}
		return nil
	}})
}
