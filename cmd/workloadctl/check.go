package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
	"github.com/example/workload-operator/config"
)

const (
	defaultCheckWait = 5 * time.Minute
	checkPoll        = time.Second
)

type checkOptions struct {
	clusterOptions

	pre    bool
	step   string
	wait   time.Duration
	output string
}

const checkHelp = `Look at an installation and say what is wrong, each with a command that mends it.

It looks at the CustomResourceDefinitions (established, step, release, migration, conversion), the webhook configurations and their
caBundles, the serving certificate, the operator's Deployment, version and permissions, the policy that guards the definitions, and
creates an object of each kind as a dry run, to see that the webhooks answer as the API server calls them. It changes nothing.
What you are not permitted to look at is named on stderr and left out.

--pre looks at what would stand in the way of an installation or upgrade: the version of the cluster, your permissions, the
step that the definitions are at, other installations.

--wait looks again every second until nothing is found, for at most five minutes or the time given.

Fix lines are for a POSIX shell, with kubectl and this binary in PATH; some begin with make or helm and are run in the root of the
repository. Errors come in the order in which to mend them. Often the first fix is enough: look again after each.

` + checkExitCodes

const checkExitCodes = `Exit codes:
  0  nothing is wrong
  1  something was found
  2  the command line is wrong, or the cluster could not be looked at`

const checkExample = `  # What is wrong?
  %[1]s check

  # May I upgrade?
  %[1]s check --pre

  # In a script, after an installation
  %[1]s check --wait=2m -o json`

func newCheckCommand(name string) *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:     "check [--pre] [--wait[=DURATION]]",
		Short:   "Say what is wrong with an installation, and how to mend it",
		Long:    checkHelp,
		Example: fmt.Sprintf(checkExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	o.bind(flags)
	o.bindNamespace(flags, "namespace of the operator (default: that of the webhooks which the cluster calls)")
	flags.BoolVar(&o.pre, "pre", false, "look at what would stand in the way of an installation or upgrade")
	flags.StringVar(&o.step, "step", string(config.StepR3), "with --pre: the step that the definitions are to be at afterwards")
	flags.DurationVar(&o.wait, "wait", 0, "look again until nothing is found, or this time has passed")
	flags.Lookup("wait").NoOptDefVal = defaultCheckWait.String()
	flags.StringVarP(&o.output, "output", "o", formatTable, "table or json")
	completeFlag(cmd, "output", formatTable, formatJSONName)
	completeFlag(cmd, "step", stepNames()...)
	return cmd
}

func stepNames() []string {
	var names []string
	for _, step := range config.Steps() {
		names = append(names, string(step))
	}
	return names
}

func (o *checkOptions) run(cmd *cobra.Command) error {
	step, err := config.ParseStep(o.step)
	switch {
	case err != nil:
		return usagef(cmd, "--step: %v", err)
	case o.wait < 0:
		return usagef(cmd, "--wait %s is negative", o.wait)
	case o.output != formatTable && o.output != formatJSONName:
		return usagef(cmd, "-o %q: use table or json", o.output)
	}
	config, err := o.interactive()
	if err != nil {
		return err
	}
	look, err := checkup.New(checkup.Options{
		Config: config, Namespace: o.namespace, Release: version(), Commands: o.commands(toolOf(cmd)),
	})
	if err != nil {
		return unreachable(err)
	}
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	once := look.Look
	if o.pre {
		once = func(ctx context.Context) (*checkup.Report, error) { return look.Before(ctx, step) }
	}
	report, err := o.until(ctx, cmd.ErrOrStderr(), once)
	if err != nil {
		return unreachable(err)
	}
	return o.write(cmd, report)
}

// until looks once, or again and again until nothing is found or the time is over.
func (o *checkOptions) until(ctx context.Context, progress io.Writer, look func(context.Context) (*checkup.Report, error)) (*checkup.Report, error) {
	deadline := time.Now().Add(o.wait)
	said := ""
	for {
		report, err := look(ctx)
		if time.Now().Add(checkPoll).After(deadline) || err == nil && len(report.Findings) == 0 {
			return report, err
		}
		waiting := "the cluster: " + fmt.Sprint(o.explain(err, "workloadctl"))
		if err == nil {
			waiting = fmt.Sprintf("%s: %s", report.Findings[0].Object, report.Findings[0].Problem)
		}
		if waiting != said {
			fmt.Fprintln(progress, "Waiting for", oneLine(waiting))
			said = waiting
		}
		select {
		case <-time.After(checkPoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *checkOptions) write(cmd *cobra.Command, report *checkup.Report) error {
	for _, unseen := range report.Unseen {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: not looked at:", unseen)
	}
	out := cmd.OutOrStdout()
	var err error
	if o.output == formatJSONName {
		err = writePlainJSON(out, report)
	} else {
		err = writeFindings(out, report)
	}
	switch {
	case err != nil:
		return err
	case len(report.Findings) > 0:
		return errFindings
	case len(report.Unseen) > 0:
		return unreachable(errors.New("nothing was found, but not everything could be looked at"))
	}
	return nil
}

// writeFindings writes how the definitions stand and then each finding, with its fix on a line of its own.
func writeFindings(w io.Writer, report *checkup.Report) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEFINITION\tSTEP\tSTORAGE\tSTORED")
	for _, d := range report.Definitions {
		fmt.Fprintln(table, strings.Join([]string{d.Name, orNone(d.Step), orNone(d.Storage), orNone(strings.Join(d.StoredVersions, ","))}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	paint := painterFor(w)
	for _, note := range report.Notes {
		if _, err := fmt.Fprintln(w, "\nnote:", note); err != nil {
			return err
		}
	}
	for _, f := range report.Findings {
		color := yellow
		if f.Severity == checkup.Error {
			color = red
		}
		fmt.Fprintf(w, "\n%s %s: %s [%s]\n  fix: %s\n", paint(color, string(f.Severity)+":"), f.Object, f.Problem, f.ID, f.Fix)
	}
	if len(report.Findings) == 0 {
		_, err := fmt.Fprintln(w, "\n"+paint(green, "Nothing is wrong."))
		return err
	}
	return nil
}

func orNone(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// Colours of a terminal.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// painterFor colours text for somebody who watches on a terminal with colours, and did not say NO_COLOR.
func painterFor(w io.Writer) func(color, text string) string {
	if !takesControls(w) || os.Getenv("NO_COLOR") != "" {
		return func(_, text string) string { return text }
	}
	return func(color, text string) string { return "\x1b[" + color + "m" + text + "\x1b[0m" }
}
