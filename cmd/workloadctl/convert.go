package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

// Values of -o.
const (
	formatYAMLName = "yaml"
	formatJSONName = "json"
)

type convertOptions struct {
	files       []string
	recursive   bool
	to          []string
	output      string
	check       bool
	lastApplied bool
}

const convertHelp = `Convert manifests of WebApps and PodSets to another version, without a cluster.

What the other version cannot say travels in annotations, so that converting back gives the same object.

Input is YAML, with any number of documents, or JSON, with any number of values. Documents keep their order. Items of
lists (List, WebAppList, PodSetList) are converted in their place. Every other document, of another kind or of a group
that --to does not name, stays as it is, byte for byte. So does a document that has the version asked for, unless -o asks for
the other format. metadata.managedFields is left out of what is converted.

YAML keeps the comments above a document, the comments of fields that keep their value or their path, and those of fields
that only got another name. A warning counts the comment lines that have no place. Anchors, aliases and merge keys are
written out. YAML is read as kubectl reads it (yes and on are true, 0755 is 493), and numbers keep all their digits.

With -o, converted documents are written in that format, otherwise in the format they came in. If that makes every document
of the output JSON, they follow each other without markers.

A field that the version of a document does not have, such as a misspelt one, is converted as the operator's webhook would: in metadata
and at the top it stays where it is, in spec it waits in an annotation and returns when the object is converted back. A warning
on stderr names each one, what became of it, and what was probably meant. Of keys that come twice the last one counts, with a warning.
A kind or version that a group named by --to does not have is an error.

Nothing is written to stdout unless every document could be read and converted. Values that cannot be read in the other
version are not an error: they wait in the annotation workload.example.com/unconvertible, and stderr gets a warning for each.
What does not fit into the annotations an object may have is an error.

--check writes no objects. It reports, a line each, what would not come back if the annotations of the conversion were lost,
and what cannot be read. With -o json each line is a JSON object.

Exit codes:
  0  done; there may be warnings
  1  a document cannot be read or converted, or --check found something
  2  the command line is wrong, or a file cannot be read or has no objects`

const convertExample = `  # To v1, from a file or from stdin
  %[1]s convert -f webapp.yaml --to app.example.com/v1
  cat webapp.yaml | %[1]s convert -f - --to app.example.com/v1 -o json

  # All manifests below a directory, both kinds
  %[1]s convert -f manifests -R --to app.example.com/v1,batch.example.com/v1

  # What would an old client not see of these objects?
  %[1]s convert -f manifests --to app.example.com/v1alpha1 --check

  # Also the manifest that kubectl apply left in the object
  %[1]s convert -f webapp.yaml --to app.example.com/v1 --update-last-applied`

func newConvertCommand(name string) *cobra.Command {
	var o convertOptions
	cmd := &cobra.Command{
		Use:     "convert -f FILE|DIRECTORY|- --to GROUP/VERSION",
		Short:   "Convert manifests to another version",
		Long:    convertHelp,
		Example: fmt.Sprintf(convertExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "file, directory, or - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read directories below directories too")
	flags.StringSliceVar(&o.to, "to", nil, "group and version to convert to; once for each group, repeated or separated by commas")
	flags.StringVarP(&o.output, "output", "o", "", "yaml or json; without it each document stays in its format")
	flags.BoolVar(&o.check, "check", false, "only report what the other version cannot say")
	flags.BoolVar(&o.lastApplied, "update-last-applied", false, "convert the kubectl.kubernetes.io/last-applied-configuration annotation too")
	for flag, values := range map[string][]string{"to": knownVersions(), "output": {formatYAMLName, formatJSONName}} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

func (o *convertOptions) run(cmd *cobra.Command) error {
	to, err := o.validate(cmd)
	if err != nil {
		return err
	}
	guide, err := newFieldGuide()
	if err != nil {
		return err
	}
	inputs, err := readManifests(cmd, o.files, o.recursive)
	if err != nil {
		return err
	}
	var all stream
	var failures []error
	for _, in := range inputs {
		b := batch{convertOptions: o, targets: to, guide: guide, file: in.name}
		for i, d := range in.documents {
			all.add(b.convert(d), i == 0)
		}
		for _, warning := range b.warnings {
			fmt.Fprintln(cmd.ErrOrStderr(), "Warning:", warning)
		}
		failures = append(failures, b.failures...)
		all.findings = append(all.findings, b.findings...)
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return o.write(cmd.OutOrStdout(), all)
}

// write writes the report or the stream.
func (o *convertOptions) write(w io.Writer, all stream) error {
	switch {
	case !o.check:
		text, plain := all.values()
		if !plain || o.output != formatJSONName {
			text = all.text()
		}
		_, err := w.Write(text)
		return written(err)
	case len(all.findings) == 0:
		return nil
	}
	if err := writeReport(w, all.findings, o.output); err != nil {
		return written(err)
	}
	return errFindings
}

func (o *convertOptions) validate(cmd *cobra.Command) (targets, error) {
	switch {
	case len(o.files) == 0:
		return nil, usagef(cmd, "say what to convert with -f")
	case len(o.to) == 0:
		return nil, usagef(cmd, "say with --to what to convert to, one of %s for each group", strings.Join(knownVersions(), ", "))
	case o.output != "" && o.output != formatYAMLName && o.output != formatJSONName:
		return nil, usagef(cmd, "-o %q: use yaml or json", o.output)
	case readsStdin(o.files) > 1:
		return nil, usagef(cmd, "-f - can be read only once")
	}
	to := targets{}
	for _, version := range o.to {
		if !slices.Contains(knownVersions(), version) {
			return nil, usagef(cmd, "--to %q: use one of %s", version, strings.Join(knownVersions(), ", "))
		}
		group, _, _ := strings.Cut(version, "/")
		if other := to[group]; other != "" && other != version {
			return nil, usagef(cmd, "--to %s and --to %s exclude each other", other, version)
		}
		to[group] = version
	}
	return to, nil
}

// readsStdin counts how often standard input is named.
func readsStdin(files []string) (n int) {
	for _, file := range files {
		if file == standardInput {
			n++
		}
	}
	return n
}

// candidateVersions are the versions any of our kinds may have.
var candidateVersions = []string{"v1", "v1alpha1"}

// knownVersions returns group and version of everything that can be converted to.
var knownVersions = sync.OnceValue(func() []string {
	var known []string
	for _, kind := range conversion.Kinds() {
		for _, version := range candidateVersions {
			to := schema.GroupVersion{Group: kind.Group, Version: version}.String()
			object := fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q}`, to, kind.Kind)
			if _, err := conversion.Convert(object, to); err == nil {
				known = append(known, to)
			}
		}
	}
	slices.Sort(known)
	return known
})
