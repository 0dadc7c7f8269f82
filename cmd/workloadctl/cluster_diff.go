package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

type diffOptions struct {
	clusterOptions

	files        []string
	recursive    bool
	in           string
	serverSide   bool
	force        bool
	fieldManager string
}

const diffHelp = `Show what kubectl apply of a manifest would change, in the version of your choice.

Each object is applied as a dry run, so what is shown is what defaults, webhooks and policies would make of it. What is on the
server and what would be are shown in v1 or, with --in, in v1alpha1, whatever version the manifest has: a manifest that
was rewritten in another version and means the same shows no difference. metadata.managedFields, generation, resourceVersion
and status are left out.

Without --server-side it is the apply of kubectl apply -f, which compares with the manifest applied before; with it, that of kubectl
apply --server-side -f. As there, fields that are unknown or come twice are errors. Objects of other groups are passed over: kubectl
diff knows them. A kind or version that our groups do not have is an error.

` + diffExitCodes

const diffExitCodes = `Exit codes:
  0  no difference
  1  differences
  2  the command line is wrong, a file cannot be read or has no objects, a manifest would be refused, or the cluster cannot be reached`

const diffExample = `  # What would kubectl apply -f webapp.yaml change?
  %[1]s diff -f webapp.yaml

  # The same, as a client of v1alpha1 sees it
  %[1]s diff -f webapp.yaml --in v1alpha1

  # All manifests below a directory, as GitOps tools apply them
  %[1]s diff -f manifests -R --server-side --force-conflicts`

func newDiffCommand(name string) *cobra.Command {
	o := &diffOptions{}
	cmd := &cobra.Command{
		Use:     "diff -f FILE|DIRECTORY|-",
		Short:   "Show what a manifest would change in a cluster, across versions",
		Long:    diffHelp,
		Example: fmt.Sprintf(diffExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	o.bind(flags)
	o.bindNamespace(flags, "namespace of objects that name none (default: that of the context)")
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "file, directory, or - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read directories below directories too")
	flags.StringVar(&o.in, "in", candidateVersions[0], "version to show: v1 or v1alpha1")
	flags.BoolVar(&o.serverSide, "server-side", false, "apply on the server's side")
	flags.BoolVar(&o.force, "force-conflicts", false, "with --server-side: take fields from other managers")
	flags.StringVar(&o.fieldManager, "field-manager", "kubectl", "with --server-side: who applies")
	completeFlag(cmd, "in", candidateVersions...)
	return cmd
}

func (o *diffOptions) run(cmd *cobra.Command) error {
	switch {
	case len(o.files) == 0:
		return usagef(cmd, "say with -f what to compare")
	case readsStdin(o.files) > 1:
		return usagef(cmd, "-f - can be read only once")
	case o.in != candidateVersions[0] && o.in != candidateVersions[1]:
		return usagef(cmd, "--in %q: use v1 or v1alpha1", o.in)
	case o.force && !o.serverSide:
		return usagef(cmd, "--force-conflicts needs --server-side")
	}
	inputs, err := readManifests(cmd, o.files, o.recursive)
	if err != nil {
		return err
	}
	a, err := o.applier()
	if err != nil {
		return err
	}
	var failures []error
	var all strings.Builder
	for _, in := range inputs {
		text, found, err := a.input(cmd.Context(), in)
		if err != nil {
			failures = append(failures, err)
		}
		if found.foreign > 0 {
			fmt.Fprintf(cmd.ErrOrStderr(), "Warning: %s: %d objects of other kinds were passed over: see kubectl diff\n", in.name, found.foreign)
		}
		for _, hint := range found.hints {
			fmt.Fprintln(cmd.ErrOrStderr(), "Warning:", hint)
		}
		all.WriteString(text)
	}
	return o.end(cmd.OutOrStdout(), all.String(), errors.Join(failures...))
}

// end writes the differences that were found, also when something failed.
func (o *diffOptions) end(w io.Writer, text string, failure error) error {
	if _, err := io.WriteString(w, coloured(w, text)); err != nil {
		return written(err)
	}
	switch {
	case failure != nil:
		return unreachable(failure)
	case text != "":
		return errFindings
	}
	return nil
}

// coloured shows what goes and what comes in colours, for somebody who watches.
func coloured(w io.Writer, text string) string {
	paint := painterFor(w)
	var out strings.Builder
	for line := range strings.Lines(text) {
		color := map[byte]string{'-': red, '+': green}[line[0]]
		if color == "" {
			out.WriteString(line)
			continue
		}
		out.WriteString(paint(color, strings.TrimSuffix(line, "\n")) + "\n")
	}
	return out.String()
}
