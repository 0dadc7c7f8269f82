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

Each rule has the floor that holds it, and what a refusal says:
  schema   the schema of the CustomResourceDefinition; the API server itself
  CEL      a rule in the CustomResourceDefinition; the API server itself
  webhook  the operator's webhook; not while it is down

With arguments, only rules that match all of them are listed. An argument is a kind (also webapps or wa), a version, a floor, or else
a part of a field or of what a refusal says. A field may be pasted from a refusal: an index or key in brackets matches [*].
Upper and lower case are the same.

[*] is any index or key, {a,b} any of the names, and … what depends on the object. That a value has the type of its
field holds everywhere and is not listed; see kubectl explain.

Exit codes:
  0  done
  2  the command line is wrong, or no rule matches`

const explainRulesExample = `  # What about this field? And what about env, in v1alpha1?
  %[1]s explain-rules spec.volumeMounts
  %[1]s explain-rules webapp v1alpha1 spec.env

  # Which rules say this?
  %[1]s explain-rules "image reference"

  # What needs the webhook?
  %[1]s explain-rules --floor webhook

  # All rules of one kind in one version, for a script
  %[1]s explain-rules --kind WebApp --version v1 -o json`

func newExplainRulesCommand(name string) *cobra.Command {
	var o explainRulesOptions
	cmd := &cobra.Command{
		Use:               "explain-rules [KIND|VERSION|FLOOR|FIELD|TEXT]...",
		Short:             "List the rules that admission applies",
		Long:              explainRulesHelp,
		Example:           fmt.Sprintf(explainRulesExample, name),
		ValidArgsFunction: completeRules,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.kind, "kind", "", "only rules of this kind")
	flags.StringVar(&o.version, "version", "", "only rules of this version")
	flags.StringVar(&o.floor, "floor", "", "only rules of this floor: schema, CEL or webhook")
	flags.StringVarP(&o.output, "output", "o", formatTextName, "text, json or markdown")
	completeFlag(cmd, "kind", kindNames()...)
	completeFlag(cmd, "version", candidateVersions...)
	completeFlag(cmd, "floor", floors...)
	completeFlag(cmd, "output", explainFormats...)
	return cmd
}

const formatTextName = "text"

var (
	floors         = []string{string(webhooks.FloorSchema), string(webhooks.FloorCEL), string(webhooks.FloorWebhook)}
	explainFormats = []string{formatTextName, formatJSONName, formatMarkdownName}
)

func (o *explainRulesOptions) run(cmd *cobra.Command, args []string) error {
	f := ruleFilter{texts: args}
	for _, flag := range []struct {
		name  string
		value *string
		known []string
		into  *string
	}{{"kind", &o.kind, kindNames(), &f.kind}, {"version", &o.version, candidateVersions, &f.version}, {"floor", &o.floor, floors, &f.floor}} {
		if *flag.value == "" {
			continue
		}
		if *flag.into = known(*flag.value, flag.known); *flag.into == "" {
			return usagef(cmd, "--%s %q: use %s", flag.name, *flag.value, strings.Join(flag.known, ", "))
		}
	}
	if !slices.Contains(explainFormats, o.output) {
		return usagef(cmd, "-o %q: use text, json or markdown", o.output)
	}
	all, err := allRules()
	if err != nil {
		return err
	}
	rules := f.filter(all)
	if len(rules) == 0 {
		return usagef(cmd, "%s", f.nothing(all))
	}
	return written(writeRules(cmd.OutOrStdout(), rules, o.output))
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
	_, err := io.WriteString(w, textRules(rules, widthOf(w)))
	return err
}

// textRules is a section for each kind and version, and in it the fields, each with its rules below.
func textRules(rules []webhooks.Rule, width int) string {
	const indent = "  "
	var out strings.Builder
	for len(rules) > 0 {
		first := rules[0]
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%s %s\n", first.Kind, first.Version)
		end := slices.IndexFunc(rules, func(r webhooks.Rule) bool { return r.Kind != first.Kind || r.Version != first.Version })
		if end < 0 {
			end = len(rules)
		}
		section := byField(rules[:end])
		for _, group := range section {
			out.WriteString("\n" + strings.Join(wrapPath(fieldOf(group[0]), width-len(indent)), "\n"+indent) + "\n")
			for _, rule := range group {
				lines := wrapWords(strings.Join(rule.Messages, " | "), width-len(indent)-floorWidth)
				fmt.Fprintf(&out, "%s%-*s%s\n", indent, floorWidth, rule.Floor, strings.Join(lines, "\n"+strings.Repeat(" ", len(indent)+floorWidth)))
			}
		}
		rules = rules[end:]
	}
	return out.String()
}

// floorWidth is the room for a floor and what separates it from the message.
const floorWidth = len(webhooks.FloorWebhook) + 2

// byField puts rules of the same field together, at the place of the first one.
func byField(rules []webhooks.Rule) (groups [][]webhooks.Rule) {
	index := map[string]int{}
	for _, rule := range rules {
		at, again := index[rule.Field]
		if !again {
			at = len(groups)
			index[rule.Field] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], rule)
	}
	return groups
}

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
