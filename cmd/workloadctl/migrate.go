package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
)

const migrateHelp = `Rewrite stored objects in the storage version of their kind, prove that none is left in another one, and only then trim
status.storedVersions of the CustomResourceDefinition.

  plan      asks for every object whether anybody would refuse; writes nothing
  run       migrates; stopped and called again, it goes on
  verify    proves that every object is stored in the storage version
  status    says what is pending, and what the latest run did
  rollback  makes v1alpha1 the storage version again, and migrates to it

KIND is a kind, resource or short name, such as webapp, podsets or ps; without any, both kinds are worked on.

` + migrateExitCodes

const migrateExitCodes = `Exit codes:
  0  done: nothing is pending
  1  objects were refused, something is pending, or it failed
  2  the command line is wrong, or the cluster cannot be reached`

const (
	formatTable = "table"

	// politeQPS is the default rate of a run. With two requests for each object, 10,000 objects take 7 minutes.
	politeQPS = migration.DefaultQPS
)

type migrateOptions struct {
	clusterOptions

	output  string
	timeout time.Duration
	engine  migration.Options
	to      string
}

func newMigrateCommand(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "migrate plan|run|status|verify|rollback [KIND...]",
		Short: "Migrate stored objects to the storage version",
		Long:  migrateHelp,
		Example: fmt.Sprintf(`  # Who would refuse?
  %[1]s migrate plan

  # Migrate both kinds, at most 200 requests a second
  %[1]s migrate run --qps 200

  # Back to v1alpha1
  %[1]s migrate rollback webapp`, name),
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newMigrateVerb(name, "plan", "Ask for every object whether anybody would refuse", (*migrateOptions).plan),
		newMigrateVerb(name, "run", "Migrate every object, prove it, and trim status.storedVersions", (*migrateOptions).run),
		newMigrateVerb(name, "verify", "Prove that every object is stored in the storage version", (*migrateOptions).verify),
		newMigrateVerb(name, "status", "Say what is pending, and what the latest run did", (*migrateOptions).status),
		newMigrateVerb(name, "rollback", "Store v1alpha1 again, and migrate to it", (*migrateOptions).rollback),
	)
	return root
}

const migrateLegend = `Of the OBJECTS, REWRITTEN are those whose stored form changed: the version that they are stored in, or that which
metadata.managedFields names for what a client wrote through it. UNCHANGED were stored so already, and MOVED are those that somebody else
wrote or deleted meanwhile, which stores them anew as well.`

// migrateVerb does its work for the definitions named.
type migrateVerb func(o *migrateOptions, ctx context.Context, cmd *cobra.Command, crds []string) error

// migrateExamples are those of each verb.
var migrateExamples = map[string]string{
	"plan": `  # Who would refuse?
  %[1]s migrate plan`,
	"run": `  # Migrate both kinds, at most 200 requests a second
  %[1]s migrate run --qps 200

  # Go on for half an hour at most; the same command goes on from there
  %[1]s migrate run webapp --timeout 30m -o json`,
	"verify": `  # Is every object stored in the storage version?
  %[1]s migrate verify`,
	"status": `  # What is pending, and what did the latest run do?
  %[1]s migrate status podset`,
	"rollback": `  # Back to v1alpha1
  %[1]s migrate rollback webapp`,
}

func newMigrateVerb(name, verb, short string, do migrateVerb) *cobra.Command {
	o := &migrateOptions{}
	cmd := &cobra.Command{
		Use:   verb + " [KIND...]",
		Short: short,
		Long:  short + ".\n\n" + migrateLegend + "\n\n" + migrateExitCodes,

		Example:           fmt.Sprintf(migrateExamples[verb], name),
		ValidArgsFunction: completeKinds,
		RunE: func(cmd *cobra.Command, kinds []string) error {
			if err := o.check(cmd); err != nil {
				return err
			}
			crds, err := definitionsOf(kinds)
			if err != nil {
				return usagef(cmd, "%v", err)
			}
			ctx, stop := untilInterrupted(cmd.Context())
			defer stop()
			if o.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, o.timeout)
				defer cancel()
			}
			return inTime(ctx, do(o, ctx, cmd, crds))
		},
	}
	flags := cmd.Flags()
	o.bind(flags)
	flags.StringVarP(&o.output, "output", "o", formatTable, "table or json; with json, or where stderr is no terminal, progress is JSON lines on stderr")
	completeFlag(cmd, "output", formatTable, formatJSONName)
	if verb == "status" {
		return cmd
	}
	flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time; 0 is never")
	flags.Float32Var(&o.engine.QPS, "qps", politeQPS, "requests per second")
	flags.IntVar(&o.engine.Workers, "workers", migration.DefaultWorkers, "requests at the same time")
	if verb == "plan" {
		return cmd
	}
	flags.DurationVar(&o.engine.SettleDelay, "settle", migration.DefaultSettleDelay, "how old the latest change of the definition must be")
	if verb == "run" {
		flags.BoolVar(&o.engine.Native, "native", false, "let the cluster's own StorageVersionMigration do the rewriting")
	}
	if verb == "rollback" {
		flags.StringVar(&o.to, "to", "v1alpha1", "version to store: v1 or v1alpha1")
		completeFlag(cmd, "to", candidateVersions...)
	}
	return cmd
}

// check refuses flags that make no sense. Flags that a verb does not have are zero.
func (o *migrateOptions) check(cmd *cobra.Command) error {
	has := func(flag string) bool { return cmd.Flags().Lookup(flag) != nil }
	switch {
	case has("output") && o.output != formatTable && o.output != formatJSONName:
		return usagef(cmd, "-o %q: use table or json", o.output)
	case has("to") && !slices.Contains(candidateVersions, o.to):
		return usagef(cmd, "--to %q: use v1 or v1alpha1", o.to)
	case o.timeout < 0:
		return usagef(cmd, "--timeout %s is negative", o.timeout)
	case has("qps") && o.engine.QPS <= 0:
		return usagef(cmd, "--qps %g is not positive", o.engine.QPS)
	case has("workers") && o.engine.Workers < 1:
		return usagef(cmd, "--workers %d is less than 1", o.engine.Workers)
	case o.engine.SettleDelay < 0:
		return usagef(cmd, "--settle %s is negative", o.engine.SettleDelay)
	}
	return nil
}

// inTime says what to do about a command that was stopped, or that took too long.
func inTime(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return unreachable(errors.New("interrupted; the same command goes on from here"))
	}
	what := ""
	if said, _, waits := strings.Cut(err.Error(), ": "+context.DeadlineExceeded.Error()); waits && strings.Contains(said, "waiting for ") {
		what = ", " + said
	}
	return fmt.Errorf("not done in time%s; the same command goes on from here, and workloadctl check says whether something is in its way", what)
}

// definitionsOf names the CustomResourceDefinitions of kinds, all without any.
func definitionsOf(kinds []string) ([]string, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	var names, all []string
	byAlias := map[string]string{}
	for _, crd := range crds {
		all = append(all, crd.Name)
		n := crd.Spec.Names
		for _, alias := range append([]string{crd.Name, n.Kind, n.Plural, n.Singular}, n.ShortNames...) {
			byAlias[strings.ToLower(alias)] = crd.Name
		}
	}
	for _, kind := range kinds {
		name := byAlias[strings.ToLower(kind)]
		if name == "" {
			return nil, fmt.Errorf("unknown kind %q: use webapp or podset", kind)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(kinds) == 0 {
		return all, nil
	}
	return names, nil
}

func (o *migrateOptions) plan(ctx context.Context, cmd *cobra.Command, crds []string) error {
	return o.report(ctx, cmd, crds, (*migration.Engine).Plan)
}

func (o *migrateOptions) run(ctx context.Context, cmd *cobra.Command, crds []string) error {
	return o.report(ctx, cmd, crds, (*migration.Engine).Run)
}

func (o *migrateOptions) verify(ctx context.Context, cmd *cobra.Command, crds []string) error {
	return o.report(ctx, cmd, crds, (*migration.Engine).Verify)
}

func (o *migrateOptions) rollback(ctx context.Context, cmd *cobra.Command, crds []string) error {
	return o.report(ctx, cmd, crds, func(e *migration.Engine, ctx context.Context, crd string) (*migration.Report, error) {
		return e.Rollback(ctx, crd, o.to)
	})
}

func (o *migrateOptions) status(ctx context.Context, cmd *cobra.Command, crds []string) error {
	engine, err := o.connect(ctx, crds)
	if err != nil {
		return err
	}
	var statuses []*migration.Status
	pending := false
	for _, crd := range crds {
		status, err := engine.Status(ctx, crd)
		if err != nil {
			return err
		}
		statuses = append(statuses, status)
		pending = pending || status.Pending
	}
	if err := writeStatuses(cmd.OutOrStdout(), statuses, o.output); err != nil {
		return err
	}
	if pending {
		return errFindings
	}
	return nil
}

// report does one thing for each definition, one after the other, and writes what came of it. One that fails does not keep the
// others from their turn.
func (o *migrateOptions) report(ctx context.Context, cmd *cobra.Command, crds []string,
	do func(*migration.Engine, context.Context, string) (*migration.Report, error),
) error {
	shown := newDisplay(cmd.ErrOrStderr(), o.output)
	o.engine.Observe = shown.observe
	engine, err := o.connect(ctx, crds)
	if err != nil {
		return err
	}
	var reports []*migration.Report
	var failures []error
	complete := true
	for _, crd := range crds {
		report, err := do(engine, ctx, crd)
		shown.end()
		if err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", crd, err))
			if ctx.Err() != nil {
				break
			}
			continue
		}
		reports = append(reports, report)
		complete = complete && report.Complete()
	}
	if err := writeReports(cmd.OutOrStdout(), reports, o.output); err != nil {
		return err
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	if !complete {
		return errFindings
	}
	return nil
}

// connect makes an engine and shows that the cluster answers.
func (o *migrateOptions) connect(ctx context.Context, crds []string) (*migration.Engine, error) {
	config, err := o.config()
	if err != nil {
		return nil, err
	}
	o.engine.Actor = config.UserAgent
	engine, err := migration.New(config, o.engine)
	if err != nil {
		return nil, unreachable(err)
	}
	var answer apierrors.APIStatus
	_, err = engine.Status(ctx, crds[0])
	switch {
	case err != nil && !errors.As(err, &answer):
		return nil, unreachable(fmt.Errorf("the cluster at %s does not answer: %w", config.Host, err))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err): // an engine would wait for a while, as for an API server that just starts
		return nil, unreachable(err)
	}
	return engine, nil
}
