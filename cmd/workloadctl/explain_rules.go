package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/webhooks"
)

const formatMarkdownName = "markdown"

type explainRulesOptions struct {
	kind, version, floor, output string
}

const explainRulesHelp = `List the rules that admission applies to WebApps and PodSets, in each version.

Each rule names its field, the floor that holds it, and what a refusal says:
  schema   the schema of the CustomResourceDefinition; the API server itself
  CEL      a rule in the CustomResourceDefinition; the API server itself
  webhook  the operator's webhook; not while it is down

[*] is any index or key, {a,b} any of the names, and … what depends on the object. That a value has the type of its
field holds everywhere and is not listed; see kubectl explain.

` + exitCodesHelp

const explainRulesExample = `  # What needs the webhook?
  %[1]s explain-rules --floor webhook

  # All rules of one kind in one version, for a script
  %[1]s explain-rules --kind WebApp --version v1 -o json`

func newExplainRulesCommand(name string) *cobra.Command {
	var o explainRulesOptions
	cmd := &cobra.Command{
		Use:     "explain-rules",
		Short:   "List the rules that admission applies",
		Long:    explainRulesHelp,
		Example: fmt.Sprintf(explainRulesExample, name),
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kind, "kind", "", "only rules of this kind")
	flags.StringVar(&o.version, "version", "", "only rules of this version")
	flags.StringVar(&o.floor, "floor", "", "only rules of this floor: schema, CEL or webhook")
	flags.StringVarP(&o.output, "output", "o", formatTableName, "table, json or markdown")
	for flag, values := range map[string][]string{"floor": floors, "output": explainFormats} {
		cobra.CheckErr(cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
	}
	return cmd
}

var (
	floors         = []string{string(webhooks.FloorSchema), string(webhooks.FloorCEL), string(webhooks.FloorWebhook)}
	explainFormats = []string{formatTableName, formatJSONName, formatMarkdownName}
)

func (o *explainRulesOptions) run(cmd *cobra.Command) error {
	switch {
	case o.floor != "" && !slices.Contains(floors, o.floor):
		return usagef(cmd, "--floor %q: use schema, CEL or webhook", o.floor)
	case !slices.Contains(explainFormats, o.output):
		return usagef(cmd, "-o %q: use table, json or markdown", o.output)
	}
	all, err := allRules()
	if err != nil {
		return err
	}
	rules := slices.DeleteFunc(all, func(r webhooks.Rule) bool {
		return o.kind != "" && r.Kind != o.kind || o.version != "" && r.Version != o.version || o.floor != "" && string(r.Floor) != o.floor
	})
	if len(rules) == 0 {
		return usagef(cmd, "no rule of kind %q in version %q", o.kind, o.version)
	}
	return writeRules(cmd.OutOrStdout(), rules, o.output)
}

func allRules() ([]webhooks.Rule, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	return webhooks.ExplainRules(crds), nil
}

func writeRules(w io.Writer, rules []webhooks.Rule, format string) error {
	switch format {
	case formatJSONName:
		encoder := json.NewEncoder(w)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		return encoder.Encode(rules)
	case formatMarkdownName:
		_, err := io.WriteString(w, markdownRules(rules))
		return err
	}
	var rows [][]string
	for _, rule := range rules {
		rows = append(rows, []string{rule.Kind, rule.Version, string(rule.Floor), fieldOf(rule), strings.Join(rule.Messages, " | ")})
	}
	return writeWrapped(w, rulesColumns, rows)
}

// rulesColumns fit into 120 characters.
var rulesColumns = []column{{"KIND", 6}, {"VERSION", 8}, {"FLOOR", 7}, {"FIELD", 52}, {"MESSAGE", 39}}

// fieldOf is how a rule's field is shown.
func fieldOf(rule webhooks.Rule) string {
	if rule.Field == "" {
		return "(object)"
	}
	return rule.Field
}

// markdownRules is a section for each kind and version, with a table.
func markdownRules(rules []webhooks.Rule) string {
	var out strings.Builder
	section := ""
	for _, rule := range rules {
		if title := rule.Kind + " " + rule.Version; title != section {
			section = title
			fmt.Fprintf(&out, "\n### %s\n\n| field | floor | message |\n|---|---|---|\n", title)
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", code(fieldOf(rule)), rule.Floor, code(strings.Join(rule.Messages, "\n")))
	}
	return out.String()
}

// code sets lines in Markdown as code, so that nothing in them is markup.
func code(lines string) string {
	var cells []string
	for line := range strings.SplitSeq(lines, "\n") {
		cells = append(cells, "`"+strings.NewReplacer("|", `\|`, "`", "'").Replace(line)+"`")
	}
	return strings.Join(cells, "<br>")
}
