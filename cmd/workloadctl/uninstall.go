package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
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
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			return o.uninstall(ctx, cmd)
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

// uninstallStep is one thing to do. It may be done again.
type uninstallStep struct {
	says string
	do   func(context.Context) error
}

func (o *uninstallOptions) uninstall(ctx context.Context, cmd *cobra.Command) error {
	u, err := o.prepare(ctx, cmd)
	if err != nil {
		return err
	}
	steps, err := u.steps(ctx)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if len(steps) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is left to do: the operator can be removed.")
		return err
	}
	for _, step := range steps {
		fmt.Fprintln(out, "-", step.says)
	}
	if o.dryRun {
		return nil
	}
	if err := o.confirm(cmd); err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w; run the command again to go on", step.says, err)
		}
		fmt.Fprintln(out, "done:", step.says)
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

// uninstaller knows the cluster.
type uninstaller struct {
	taker   *stepTaker
	migrate func(ctx context.Context, crds []string) error
}

func (o *uninstallOptions) prepare(ctx context.Context, cmd *cobra.Command) (*uninstaller, error) {
	log.SetLogger(logr.Discard()) // the client of the steps would complain that there is none
	taker, err := newStepTaker(&o.clusterOptions, nil)
	if err != nil {
		return nil, usageError{err}
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
	return &uninstaller{taker: taker, migrate: func(ctx context.Context, crds []string) error {
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
	}}, nil
}

// steps are those that are left, by where the definitions stand.
func (u *uninstaller) steps(ctx context.Context) ([]uninstallStep, error) {
	first, names, err := u.standing(ctx)
	if err != nil {
		return nil, err
	}
	take := func(step config.Step) func(context.Context) error {
		return func(ctx context.Context) error {
			crds, err := config.CRDsAt(step)
			if err != nil {
				return err
			}
			crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return !slices.Contains(names, crd.Name) })
			return u.taker.take(ctx, io.Discard, step, crds)
		}
	}
	migrate := func(ctx context.Context) error { return u.migrate(ctx, names) }
	var steps []uninstallStep
	if first < config.StepR3 {
		steps = append(steps, uninstallStep{"store v1 (step R3)", take(config.StepR3)})
	}
	if first < config.StepR4 {
		steps = append(steps,
			uninstallStep{"migrate every object to v1", migrate},
			uninstallStep{"serve v1 alone (step R4)", take(config.StepR4)})
	}
	if first < config.StepR5 {
		steps = append(steps,
			uninstallStep{"translate what v1alpha1 left in managedFields", migrate},
			uninstallStep{"remove v1alpha1 and the conversion from the definitions (step R5)", take(config.StepR5)})
	}
	webhooks, err := u.webhooks(ctx)
	if err != nil {
		return nil, err
	}
	for _, configuration := range webhooks {
		says := fmt.Sprintf("delete %T %s", configuration, configuration.GetName())
		steps = append(steps, uninstallStep{strings.Replace(says, "*v1.", "", 1), func(ctx context.Context) error {
			return client.IgnoreNotFound(u.taker.client.Delete(ctx, configuration))
		}})
	}
	return steps, nil
}

// standing is the earliest step that an installed definition is at, and which are installed.
func (u *uninstaller) standing(ctx context.Context) (first config.Step, names []string, err error) {
	crds, err := config.CRDs()
	if err != nil {
		return "", nil, err
	}
	first = config.StepR5
	for _, crd := range crds {
		live := &apiextensionsv1.CustomResourceDefinition{}
		err := u.taker.client.Get(ctx, client.ObjectKeyFromObject(crd), live)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return "", nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", crd.Name, err)
		}
		names = append(names, crd.Name)
		first = min(first, config.StepOf(live))
	}
	return first, names, nil
}

// webhooks are the configurations with a webhook of the operator, whatever they are called.
func (u *uninstaller) webhooks(ctx context.Context) ([]client.Object, error) {
	validating := &admissionv1.ValidatingWebhookConfigurationList{}
	mutating := &admissionv1.MutatingWebhookConfigurationList{}
	if err := errors.Join(u.taker.client.List(ctx, validating), u.taker.client.List(ctx, mutating)); err != nil {
		return nil, fmt.Errorf("looking for the operator's webhook configurations: %w", err)
	}
	var ours []client.Object
	for i := range validating.Items {
		if slices.ContainsFunc(validating.Items[i].Webhooks, func(w admissionv1.ValidatingWebhook) bool { return isOurs(w.Name) }) {
			ours = append(ours, &validating.Items[i])
		}
	}
	for i := range mutating.Items {
		if slices.ContainsFunc(mutating.Items[i].Webhooks, func(w admissionv1.MutatingWebhook) bool { return isOurs(w.Name) }) {
			ours = append(ours, &mutating.Items[i])
		}
	}
	return ours, nil
}

func isOurs(webhook string) bool {
	return strings.HasSuffix(webhook, ".webapps.app.example.com") || strings.HasSuffix(webhook, ".podsets.batch.example.com")
}
