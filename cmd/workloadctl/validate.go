package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/webhooks"
)

// Further values of -o.
const (
	formatTableName = "table"
	formatJUnitName = "junit"
)

type validateOptions struct {
	files     []string
	recursive bool
	stored    []string
	output    string
}

const validateHelp = `Validate manifests of WebApps and PodSets as the API server would, without a cluster.

Each object gets the verdict that kubectl apply would get for its creation from a cluster with this release of the operator: fields
that are unknown or come twice are errors (as by kubectl apply --validate=strict, its default), defaults are filled in, and then
the schema, its CEL rules and the rules of the webhook applied. That holds for both versions, and fields are named in the
version of the manifest. What needs a cluster is not judged: whether the namespace is there and whether the name is free,
quotas, permissions, other admission.

The values in status are ignored, and so is metadata that the API server sets itself. An object without a namespace counts as one of
"default".

With --stored, an object that is found there too, by kind, namespace and name, is judged as an update of the stored one. So what
was wrong before and did not change is not reported, and in v1alpha1 fields that only v1 has are taken from the stored object. Unknown
fields of a stored object are dropped without a word, as a cluster did when it was written; those of a manifest are errors.

Input is read as by convert: YAML, with any number of documents, or JSON, with any number of values, and lists. Objects of
other groups pass and are counted. A kind or version that our groups do not have is an error.

Exit codes:
  0  every object is valid; there may be warnings
  1  an object is invalid, or a document cannot be read
  2  the command line is wrong, or a file cannot be read or has no objects`

const validateExample = `  # One file, or stdin
  %[1]s validate -f webapp.yaml
  cat webapp.yaml | %[1]s validate -f - -o json

  # All manifests below a directory, with a report for the build server
  %[1]s validate -f manifests -R -o junit

  # Would this change be accepted?
  %[1]s validate -f webapp.yaml --stored manifests/stored.yaml`

func newValidateCommand(name string) *cobra.Command {
	var o validateOptions
	cmd := &cobra.Command{
		Use:     "validate -f FILE|DIRECTORY|-",
		Short:   "Validate manifests as the API server would",
		Long:    validateHelp,
		Example: fmt.Sprintf(validateExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&o.files, "filename", "f", nil, "file, directory, or - for stdin; may be repeated")
	flags.BoolVarP(&o.recursive, "recursive", "R", false, "read directories below directories too")
	flags.StringSliceVar(&o.stored, "stored", nil, "file or directory with stored objects, to judge updates of them; may be repeated")
	flags.StringVarP(&o.output, "output", "o", formatTableName, "table, json or junit")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(validateFormats, cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

var validateFormats = []string{formatTableName, formatJSONName, formatJUnitName}

func (o *validateOptions) run(cmd *cobra.Command) error {
	switch {
	case len(o.files) == 0:
		return usagef(cmd, "say what to validate with -f")
	case !slices.Contains(validateFormats, o.output):
		return usagef(cmd, "-o %q: use table, json or junit", o.output)
	case readsStdin(o.files)+readsStdin(o.stored) > 1:
		return usagef(cmd, "-f - can be read only once")
	}
	v, err := newValidator()
	if err != nil {
		return err
	}
	stored, err := readInputs(o.stored, o.recursive, cmd.InOrStdin())
	if err == nil {
		err = v.remember(stored)
	}
	if err != nil {
		return unreachable(err)
	}
	inputs, err := readManifests(cmd, o.files, o.recursive)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		for _, hint := range v.validate(cmd.Context(), in) {
			fmt.Fprintln(cmd.ErrOrStderr(), "Warning:", hint)
		}
	}
	if err := writeVerdicts(cmd.OutOrStdout(), v.report, o.output); err != nil {
		return written(err)
	}
	if v.report.Summary.Invalid > 0 {
		return errFindings
	}
	return nil
}

// validator judges documents and collects the verdicts.
type validator struct {
	manifestReader
	offline *webhooks.Offline
	guide   fieldGuide
	stored  map[string][]byte // by identity
	report  validationReport
}

func newValidator() (*validator, error) {
	offline, err := newOffline()
	if err != nil {
		return nil, err
	}
	guide, err := newFieldGuide()
	return &validator{
		manifestReader: newManifestReader(), offline: offline, guide: guide,
		stored: map[string][]byte{}, report: validationReport{Objects: []objectVerdict{}},
	}, err
}

// newOffline compiles the rules once.
var newOffline = sync.OnceValues(func() (*webhooks.Offline, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	return webhooks.NewOffline(crds)
})

// remember takes the objects of inputs as stored.
func (v *validator) remember(inputs []input) error {
	var failures []error
	for _, in := range inputs {
		for _, d := range in.documents {
			found, err := v.read(d)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s: document %d: %w", in.name, d.number, err))
			}
			for _, object := range found.ours {
				if object.unknown != "" {
					failures = append(failures, fmt.Errorf("%s: document %d: %s", in.name, d.number, object.unknown))
				}
				v.stored[identityOf(object.raw)] = object.raw
			}
		}
	}
	return errors.Join(failures...)
}

// identityOf tells objects apart whatever version they are written in.
func identityOf(object []byte) string {
	group, _, _ := strings.Cut(stringAt(object, "apiVersion"), "/")
	namespace := stringAt(object, "metadata", "namespace")
	if namespace == "" {
		namespace = "default"
	}
	return strings.Join([]string{group, stringAt(object, "kind"), namespace, stringAt(object, "metadata", "name")}, "/")
}

// validate judges what is in an input, and returns hints about what is passed over.
func (v *validator) validate(ctx context.Context, in input) (hints []string) {
	for _, d := range in.documents {
		found, err := v.read(d)
		if err != nil {
			v.report.add(unreadable(in.name, d.number, err))
		}
		v.report.Summary.OtherKinds += found.foreign
		for _, object := range found.ours {
			v.report.add(v.judge(ctx, in.name, d.number, object))
		}
		for _, hint := range found.hints {
			hints = append(hints, fmt.Sprintf("%s: document %d: %s", in.name, d.number, hint))
		}
	}
	return hints
}

func (v *validator) judge(ctx context.Context, file string, document int, object manifest) objectVerdict {
	judged := objectVerdict{
		File: file, Document: document, Item: object.item,
		APIVersion: stringAt(object.raw, "apiVersion"), Kind: stringAt(object.raw, "kind"),
		Namespace: stringAt(object.raw, "metadata", "namespace"), Name: nameIn(object.raw),
	}
	if object.unknown != "" {
		judged.Errors = []fieldError{{Message: object.unknown}}
		return judged
	}
	admission, err := v.offline.Admit(ctx, object.raw, v.stored[identityOf(object.raw)])
	for _, one := range object.repeated {
		judged.Errors = append(judged.Errors, fieldError{Field: one.path, Message: fmt.Sprintf("%s (line %d)", duplicateField(one.path), one.line)})
	}
	gvk := schema.FromAPIVersionAndKind(judged.APIVersion, judged.Kind)
	for _, text := range admission.Mistakes {
		judged.Errors = append(judged.Errors, v.guide.fieldError(gvk, text))
	}
	if err != nil {
		judged.Errors = append(judged.Errors, fieldError{Message: err.Error()})
	}
	for _, one := range admission.Errors {
		judged.Errors = append(judged.Errors, errorOf(one))
	}
	judged.Warnings = admission.Warnings
	judged.Valid = len(judged.Errors) == 0
	return judged
}

// nameIn is the name of an object, or what its name will begin with.
func nameIn(object []byte) string {
	if name := stringAt(object, "metadata", "name"); name != "" {
		return name
	}
	return stringAt(object, "metadata", "generateName")
}
