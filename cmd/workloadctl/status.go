package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/cmd/workloadctl/internal/tree"
)

type statusOptions struct {
	clusterOptions

	allNamespaces bool
	output        string
}

const statusHelp = `Show WebApps and PodSets with what hangs on them: owner, children, Pods, conditions, recent events, and what is worst.

KIND is a kind, resource or short name; without it both kinds are looked at. Without a name, all objects of the namespace are shown.
Children belong to an object by UID, so that what another one left behind is not shown.

` + statusExitCodes

const statusExitCodes = `Exit codes:
  0  everything shown is ready
  1  something is not
  2  the command line is wrong, there is no such object, or the cluster cannot be reached`

const statusExample = `  # Why is it not ready?
  %[1]s status webapp/my-app

  # Everything in a namespace, for a script
  %[1]s status -n shop -o json

  # Where is it?
  %[1]s status my-app -A`

func newStatusCommand(name string) *cobra.Command {
	o := &statusOptions{}
	cmd := &cobra.Command{
		Use:     "status [KIND/NAME | NAME]",
		Short:   "Show a WebApp or PodSet as a tree, with what is wrong",
		Long:    statusHelp,
		Example: fmt.Sprintf(statusExample, name),

		ValidArgsFunction: completeTarget,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	o.bind(flags)
	o.bindNamespace(flags, "namespace (default: that of the context)")
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "look in all namespaces")
	flags.StringVarP(&o.output, "output", "o", formatTable, "table or json")
	completeFlag(cmd, "output", formatTable, formatJSONName)
	return cmd
}

func (o *statusOptions) run(cmd *cobra.Command, args []string) error {
	if o.output != formatTable && o.output != formatJSONName {
		return usagef(cmd, "-o %q: use table or json", o.output)
	}
	kind, name, err := parseTarget(cmd, args)
	if err != nil {
		return err
	}
	query := tree.Query{Kind: kind, Name: name}
	if !o.allNamespaces {
		if query.Namespace, err = o.inNamespace(); err != nil {
			return err
		}
	}
	client, err := o.typedClient()
	if err != nil {
		return err
	}
	ctx, stop := untilInterrupted(cmd.Context())
	defer stop()
	trees, unseen, err := tree.Read(ctx, client, query)
	if err != nil {
		return unreachable(err)
	}
	for _, what := range unseen {
		fmt.Fprintln(cmd.ErrOrStderr(), "Warning: not looked at:", oneLine(what))
	}
	switch {
	case len(trees) == 0 && name != "":
		return unreachable(fmt.Errorf("there is no %s in %s", strings.Join(args, "/"), o.where(query)))
	case len(trees) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "There are no WebApps and PodSets in", o.where(query))
	}
	return o.write(cmd, trees)
}

func (o *statusOptions) where(q tree.Query) string {
	if o.allNamespaces {
		return "any namespace"
	}
	return "namespace " + q.Namespace
}

func (o *statusOptions) write(cmd *cobra.Command, trees []*tree.Tree) error {
	out := cmd.OutOrStdout()
	paint := painterFor(out)
	mark := func(good bool, text string) string {
		if good {
			return paint(green, text)
		}
		return paint(red, text)
	}
	ready := true
	var errs []error
	for i, t := range trees {
		ready = ready && t.Ready
		if o.output == formatJSONName {
			continue
		}
		if i > 0 {
			fmt.Fprintln(out)
		}
		errs = append(errs, tree.Write(out, t, time.Now(), mark))
	}
	if o.output == formatJSONName {
		errs = append(errs, writePlainJSON(out, append([]*tree.Tree{}, trees...)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !ready {
		return errFindings
	}
	return nil
}
