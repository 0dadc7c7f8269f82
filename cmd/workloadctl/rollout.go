package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/cmd/workloadctl/internal/rollout"
)

// rolloutPoll is the pause between two looks.
const rolloutPoll = time.Second

type rolloutOptions struct {
	clusterOptions

	watch   bool
	timeout time.Duration
	output  string
}

const rolloutHelp = `Follow, start and list the rollouts of WebApps and PodSets.

  status   waits until every Pod that is to be up to date is, or says why that will not be
  restart  replaces the Pods, as the strategy of the object wants it
  history  lists the revisions: those that the Deployment of a WebApp keeps, and those that Pods of a PodSet have

` + rolloutExitCodes

const rolloutExitCodes = `Exit codes:
  0  done
  1  the rollout failed, is not done, or not in time
  2  the command line is wrong, there is no such object, or the cluster cannot be reached`

const rolloutExample = `  # Wait for a change, at most two minutes
  %[1]s rollout status webapp/my-app --timeout 2m

  # Replace the Pods of a PodSet, one after the other
  %[1]s rollout restart podset/podset-sample

  # Which images has it had?
  %[1]s rollout history webapp/my-app`

func newRolloutCommand(name string) *cobra.Command {
	root := &cobra.Command{
		Use:     "rollout status|restart|history KIND/NAME",
		Short:   "Follow, start and list rollouts",
		Long:    rolloutHelp,
		Example: fmt.Sprintf(rolloutExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(
		newRolloutVerb(name, "status", "Wait until a rollout is done", (*rolloutOptions).status),
		newRolloutVerb(name, "restart", "Replace the Pods of an object", (*rolloutOptions).restart),
		newRolloutVerb(name, "history", "List the revisions of an object", (*rolloutOptions).history),
	)
	return root
}

// rolloutVerb works on one object.
type rolloutVerb func(o *rolloutOptions, ctx context.Context, cmd *cobra.Command, t *rolloutTarget) error

// rolloutTarget is the object, to be read again and again.
type rolloutTarget struct {
	client client.Client
	kind   string
	key    types.NamespacedName
}

func (t *rolloutTarget) read(ctx context.Context) (*rollout.Target, error) {
	target, err := rollout.Get(ctx, t.client, t.kind, t.key)
	if apierrors.IsNotFound(err) && !unserved(err) && !meta.IsNoMatchError(err) {
		return nil, unreachable(fmt.Errorf("there is no %s %s in namespace %s", t.kind, t.key.Name, t.key.Namespace))
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return target, nil
}

// rolloutExamples are those of each verb.
var rolloutExamples = map[string]string{
	"status": `  # Wait for a change, at most two minutes
  %[1]s rollout status webapp/my-app --timeout 2m

  # How far is it?
  %[1]s rollout status podset/podset-sample --watch=false`,
	"restart": `  # Replace the Pods of a PodSet, one after the other
  %[1]s rollout restart podset/podset-sample`,
	"history": `  # Which images has it had?
  %[1]s rollout history webapp/my-app

  # The same, for a script
  %[1]s rollout history webapp/my-app -o json`,
}

func newRolloutVerb(name, verb, short string, do rolloutVerb) *cobra.Command {
	o := &rolloutOptions{}
	cmd := &cobra.Command{
		Use:   verb + " KIND/NAME",
		Short: short,
		Long:  short + ".\n\n" + rolloutExitCodes,

		Example:           fmt.Sprintf(rolloutExamples[verb], name),
		ValidArgsFunction: completeTarget,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilInterrupted(cmd.Context())
			defer stop()
			target, err := o.target(cmd, args)
			if err != nil {
				return err
			}
			return do(o, ctx, cmd, target)
		},
	}
	flags := cmd.Flags()
	o.bind(flags)
	o.bindNamespace(flags, "namespace (default: that of the context)")
	switch verb {
	case "status":
		flags.BoolVarP(&o.watch, "watch", "w", true, "wait for the end; with --watch=false look once")
		flags.DurationVar(&o.timeout, "timeout", 0, "give up after this time; 0 is never")
	case "history":
		flags.StringVarP(&o.output, "output", "o", formatTable, "table or json")
		completeFlag(cmd, "output", formatTable, formatJSONName)
	}
	return cmd
}

func (o *rolloutOptions) target(cmd *cobra.Command, args []string) (*rolloutTarget, error) {
	kind, name, err := parseTarget(cmd, args)
	switch {
	case err != nil:
		return nil, err
	case kind == "":
		return nil, usagef(cmd, "say with KIND/NAME which object, such as webapp/my-app")
	case o.timeout < 0:
		return nil, usagef(cmd, "--timeout %s is negative", o.timeout)
	case o.output != "" && o.output != formatTable && o.output != formatJSONName:
		return nil, usagef(cmd, "-o %q: use table or json", o.output)
	}
	t := &rolloutTarget{kind: kind, key: types.NamespacedName{Name: name}}
	if t.key.Namespace, err = o.inNamespace(); err != nil {
		return nil, err
	}
	t.client, err = o.typedClient()
	return t, err
}

func (o *rolloutOptions) status(ctx context.Context, cmd *cobra.Command, t *rolloutTarget) error {
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	said := "nothing was seen"
	for {
		target, err := t.read(ctx)
		if ctx.Err() != nil {
			return unfinished(ctx, said)
		}
		if err != nil {
			return err
		}
		state, message := rollout.Progress(target)
		if said != message {
			said = message
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s: %s\n", target.Name(), state, oneLine(message))
		}
		switch {
		case state == rollout.Done:
			return nil
		case state == rollout.Failed || !o.watch:
			return errFindings
		}
		select {
		case <-time.After(rolloutPoll):
		case <-ctx.Done():
			return unfinished(ctx, said)
		}
	}
}

// unfinished says how far a rollout was when nobody waited for it any longer. Being told to stop is no finding about it.
func unfinished(ctx context.Context, said string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return unreachable(fmt.Errorf("interrupted; the rollout goes on: %s", oneLine(said)))
	}
	return fmt.Errorf("not done in time: %s", oneLine(said))
}

func (o *rolloutOptions) restart(ctx context.Context, cmd *cobra.Command, t *rolloutTarget) error {
	target, err := t.read(ctx)
	if err != nil {
		return err
	}
	if err := rollout.Restart(ctx, t.client, target, time.Now()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: restarted\n", target.Name())
	return err
}

func (o *rolloutOptions) history(ctx context.Context, cmd *cobra.Command, t *rolloutTarget) error {
	target, err := t.read(ctx)
	if err != nil {
		return err
	}
	revisions, err := rollout.History(ctx, t.client, target)
	if err != nil {
		return unreachable(err)
	}
	if o.output == formatJSONName {
		return writePlainJSON(cmd.OutOrStdout(), append([]rollout.Revision{}, revisions...))
	}
	return writeHistory(cmd.OutOrStdout(), revisions, time.Now())
}

func writeHistory(w io.Writer, revisions []rollout.Revision, now time.Time) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "REVISION\tCURRENT\tREADY\tAGE\tIMAGE\tCAUSE")
	for _, r := range revisions {
		current := ""
		if r.Current {
			current = "*"
		}
		fmt.Fprintf(table, "%s\t%s\t%d/%d\t%s\t%s\t%s\n", r.Revision, current, r.Ready, r.Pods, duration.HumanDuration(now.Sub(r.Created)), r.Image, orNone(r.Cause))
	}
	return table.Flush()
}
