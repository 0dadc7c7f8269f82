package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
)

const defaultWebhookService = "workload-operator-system/workload-operator-webhook-service:443"

type crdsOptions struct {
	clusterOptions

	stepName       string
	apply          bool
	output         string
	webhookService string
}

const crdsHelp = `Print the CustomResourceDefinitions of a release step, or take that step in a cluster.

  R1  serves and stores v1alpha1; there is no v1
  R2  serves both versions through the conversion webhook, stores v1alpha1
  R3  serves both versions, stores v1: what this release ships
  R4  no longer serves v1alpha1
  R5  has no v1alpha1, and converts nothing

Steps may be taken forward and back, and R1 to R3 at once. A step after which stored objects could not be read as they were
written is refused, before anything is written, with what to run instead. The cluster refuses the same by a
ValidatingAdmissionPolicy that is installed with the operator.

--apply changes only what the step changes, by one write for each definition, none if it is at that step already: every write
makes the API server fill its caches anew. The conversion stanza stays as it is, with its Service and caBundle. Where there
is none, it is that of the operator's webhook configuration, or names --webhook-service if no operator is installed.

The step back to R1 waits until v1 has been served for a minute. The owner references of Deployments and Pods name v1, and a
garbage collector that has not seen the owners yet would delete what they own once v1 is gone.

` + crdsExitCodes

const crdsExitCodes = `Exit codes:
  0  done
  1  the step is refused
  2  the command line is wrong, or the cluster cannot be reached`

const crdsExample = `  # What would step R4 look like?
  %[1]s crds --step R4

  # Store v1, and rewrite what is stored as v1alpha1
  %[1]s crds --step R3 --apply
  %[1]s migrate run`

func newCRDsCommand(name string) *cobra.Command {
	var o crdsOptions
	cmd := &cobra.Command{
		Use:     "crds --step R1|R2|R3|R4|R5 [--apply]",
		Short:   "Print or apply the CustomResourceDefinitions of a release step",
		Long:    crdsHelp,
		Example: fmt.Sprintf(crdsExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.stepName, "step", "", "release step: R1, R2, R3, R4 or R5")
	flags.BoolVar(&o.apply, "apply", false, "change the definitions of the cluster instead of printing them")
	flags.StringVarP(&o.output, "output", "o", formatYAMLName, "how to print: yaml or json")
	flags.StringVar(&o.webhookService, "webhook-service", "",
		"Service of the conversion webhook as NAMESPACE/NAME[:PORT] (default: that of the cluster with --apply, else "+defaultWebhookService+")")
	o.bind(flags)
	steps := make([]string, 0, len(config.Steps()))
	for _, step := range config.Steps() {
		steps = append(steps, string(step))
	}
	for flag, values := range map[string][]string{"step": steps, "output": {formatYAMLName, formatJSONName}} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

func (o *crdsOptions) run(cmd *cobra.Command) error {
	step, err := config.ParseStep(o.stepName)
	switch {
	case o.stepName == "":
		return usagef(cmd, "say with --step which step: R1, R2, R3, R4 or R5")
	case err != nil:
		return usagef(cmd, "--step: %v", err)
	case o.apply && cmd.Flags().Changed("output"):
		return usagef(cmd, "-o says how to print definitions, which --apply does not")
	case o.output != formatYAMLName && o.output != formatJSONName:
		return usagef(cmd, "-o %q: use yaml or json", o.output)
	}
	service, err := parseService(o.webhookService)
	if err != nil {
		return usagef(cmd, "--webhook-service %v", err)
	}
	crds, err := config.CRDsAt(step)
	if err != nil {
		return err
	}
	if !o.apply {
		return o.print(cmd.OutOrStdout(), crds, service)
	}
	t, err := newStepTaker(&o.clusterOptions, service)
	if err != nil {
		return err
	}
	t.commands = o.commands(toolOf(cmd))
	return t.take(cmd.Context(), cmd.OutOrStdout(), step, crds)
}

// parseService reads NAMESPACE/NAME[:PORT], nil for an empty text.
func parseService(text string) (*apiextensionsv1.ServiceReference, error) {
	if text == "" {
		return nil, nil
	}
	path, portText, hasPort := strings.Cut(text, ":")
	namespace, name, ok := strings.Cut(path, "/")
	port := int64(443)
	var err error
	if hasPort {
		port, err = strconv.ParseInt(portText, 10, 32)
	}
	if !ok || namespace == "" || name == "" || err != nil || port < 1 || port > 65535 {
		return nil, fmt.Errorf("%q: use NAMESPACE/NAME or NAMESPACE/NAME:PORT", text)
	}
	return &apiextensionsv1.ServiceReference{Namespace: namespace, Name: name, Path: ptr.To("/convert"), Port: ptr.To(int32(port))}, nil
}

// print writes the definitions as documents that kubectl applies.
func (o *crdsOptions) print(w io.Writer, crds []*apiextensionsv1.CustomResourceDefinition, service *apiextensionsv1.ServiceReference) error {
	for i, crd := range crds {
		if stanza := crd.Spec.Conversion.Webhook; stanza != nil && service != nil {
			stanza.ClientConfig.Service = service
		}
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return err
		}
		delete(object, "status") // the Go type always carries one, and an API server refuses its empty names
		text, err := yaml.Marshal(object)
		if err != nil {
			return err
		}
		if o.output == formatJSONName {
			if text, err = yaml.YAMLToJSON(text); err != nil {
				return err
			}
			text = append(text, '\n')
		} else if i > 0 {
			text = append([]byte("---\n"), text...)
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}

// take brings every definition to the step, or none: all are judged before the first is written.
func (t *stepTaker) take(ctx context.Context, w io.Writer, step config.Step, crds []*apiextensionsv1.CustomResourceDefinition) error {
	var refusals []error
	var changes []*stepChange
	for _, crd := range crds {
		change, err := t.judge(ctx, step, crd)
		if err != nil {
			refusals = append(refusals, err)
		}
		changes = append(changes, change)
	}
	if err := errors.Join(refusals...); err != nil {
		return err
	}
	if err := t.rest(ctx, w, changes); err != nil {
		return err
	}
	mixed := false
	for _, crd := range crds {
		change, err := t.change(ctx, step, crd)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", crd.Name, change.said); err != nil {
			return err
		}
		mixed = mixed || change.mixed
	}
	if next := t.next(step, mixed); next != "" {
		_, err := fmt.Fprintln(w, "Next:", next)
		return err
	}
	return nil
}

// next is what to type after a step, with the direction of a migration. mixed says that objects may be stored in another version
// than the step stores.
func (t *stepTaker) next(step config.Step, mixed bool) string {
	run := t.commands.Call("migrate", "run")
	switch {
	case step == config.StepR4:
		return run + " (translates what clients of v1alpha1 left in metadata.managedFields to v1)"
	case !mixed:
		return ""
	case step == config.StepR3:
		return run + " (rewrites in v1 what is stored in v1alpha1)"
	}
	return t.commands.Call("crds", "--step", string(config.StepR3), "--apply") + " to go on, or " + run + " to go back (rewrites in v1alpha1 what is stored in v1)"
}
