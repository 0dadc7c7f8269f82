package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

// Floor is what holds a rule, from the lowest up.
type Floor string

// Floors.
const (
	FloorSchema  Floor = "schema"
	FloorCEL     Floor = "CEL"
	FloorWebhook Floor = "webhook"
)

// Rule is one thing that admission checks, for documentation.
type Rule struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
	Floor   Floor  `json:"floor"`

	// Field is the path in that version. [*] is any index or key, {a,b} any of the names; empty is the whole object.
	Field string `json:"field"`

	// Messages are what a refusal may say, any of them; … stands for what depends on the object.
	Messages []string `json:"messages"`

	// Expression is the rule itself if it is one of CEL.
	Expression string `json:"expression,omitempty"`

	// Why says why no lower floor holds it, if it is one of the webhook.
	Why string `json:"why,omitempty"`
}

// ExplainRules lists the rules of all kinds and versions, in the order of the fields: those of schema and CEL as the
// CustomResourceDefinitions have them, and those of the webhook. It leaves out that a value must have the type of its
// field, which holds for all fields, and what concerns status, which users do not write.
//
// A request in an older version must also follow all rules of v1 after conversion. Where an older version has the field but not the
// rule, the rule is listed as one of the webhook, which applies it. Rules of fields that the older version does not
// have are listed with v1 alone.
func ExplainRules(crds []*apiextensionsv1.CustomResourceDefinition) []Rule {
	var all []Rule
	for _, crd := range crds {
		hub := explainer{gvk: schema.GroupVersionKind{Group: crd.Spec.Group, Version: hubVersion, Kind: crd.Spec.Names.Kind}}
		for _, version := range hubFirst(crd.Spec.Versions) {
			if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
				continue
			}
			e := explainer{gvk: schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}}
			e.node("", version.Schema.OpenAPIV3Schema)
			if version.Name == hubVersion {
				hub.rules = slices.Clone(e.rules)
			} else {
				e.converted(hub.rules)
			}
			e.webhook()
			all = append(all, e.rules...)
		}
	}
	return all
}

// hubFirst puts v1 before the versions that are judged by its rules, too.
func hubFirst(versions []apiextensionsv1.CustomResourceDefinitionVersion) []apiextensionsv1.CustomResourceDefinitionVersion {
	return slices.SortedStableFunc(slices.Values(versions), func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == hubVersion:
			return -1
		case b.Name == hubVersion:
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
}

type explainer struct {
	gvk   schema.GroupVersionKind
	rules []Rule
}

func (e *explainer) add(floor Floor, path, message string) *Rule {
	e.rules = append(e.rules, Rule{Kind: e.gvk.Kind, Version: e.gvk.Version, Floor: floor, Field: path, Messages: []string{message}})
	return &e.rules[len(e.rules)-1]
}

// node lists the rules of a place in a schema and of all below it.
func (e *explainer) node(path string, node *apiextensionsv1.JSONSchemaProps) {
	for _, message := range constraints(node) {
		e.add(FloorSchema, path, message)
	}
	for _, rule := range node.XValidations {
		e.add(FloorCEL, strings.TrimPrefix(path+rule.FieldPath, "."), rule.Message).Expression = rule.Rule
	}
	if node.XListType != nil && *node.XListType != "atomic" {
		e.add(FloorSchema, path+"[*]", duplicate)
	}
	for _, name := range slices.Sorted(maps.Keys(node.Properties)) {
		below := strings.TrimPrefix(path+"."+name, ".")
		if below == "status" || below == "metadata" {
			continue
		}
		if slices.Contains(node.Required, name) {
			e.add(FloorSchema, below, requiredValue)
		}
		property := node.Properties[name]
		e.node(below, &property)
	}
	if node.Items != nil && node.Items.Schema != nil {
		e.node(path+"[*]", node.Items.Schema)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		e.node(path+"[*]", node.AdditionalProperties.Schema)
	}
}

// constraints are what the API server says about the bounds of a value, as far as it has any.
func constraints(node *apiextensionsv1.JSONSchemaProps) []string {
	var messages []string
	add := func(format string, args ...any) { messages = append(messages, fmt.Sprintf(format, args...)) }
	if len(node.Enum) > 0 {
		var values []string
		for _, value := range node.Enum {
			values = append(values, string(value.Raw))
		}
		add("supported values: %s", strings.Join(values, ", "))
	}
	if node.Minimum != nil {
		add("should be greater than or equal to %s", number(*node.Minimum))
	}
	if node.Maximum != nil {
		add("should be less than or equal to %s", number(*node.Maximum))
	}
	if node.MinLength != nil {
		add("should be at least %d chars long", *node.MinLength)
	}
	if node.MaxLength != nil {
		add("may not be more than %d bytes", *node.MaxLength)
	}
	if node.Pattern != "" {
		add("should match '%s'", node.Pattern)
	}
	if node.MaxItems != nil {
		add("must have at most %d items", *node.MaxItems)
	}
	if node.MaxProperties != nil {
		add("must have at most %d items", *node.MaxProperties)
	}
	return messages
}

// converted lists the rules of the v1 schema that the version's own schema does not have.
func (e *explainer) converted(hub []Rule) {
	own := slices.Clone(e.rules)
	for _, rule := range hub {
		for _, name := range e.namesOf(rule.Field) {
			known := slices.ContainsFunc(own, func(r Rule) bool { return r.Field == name && slices.Equal(r.Messages, rule.Messages) })
			if !known {
				e.add(FloorWebhook, name, rule.Messages[0]).Why = whyConverted
			}
		}
	}
}

func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// webhook lists the rules of the webhook.
func (e *explainer) webhook() {
	gk := e.gvk.GroupKind()
	for i := range webhookRules {
		rule := &webhookRules[i]
		if rule.backstop || !rule.forKind(gk) {
			continue
		}
		for _, path := range rule.fields {
			for _, name := range e.namesOf(path) {
				added := e.add(FloorWebhook, name, "")
				added.Messages, added.Why = rule.messages, rule.why
			}
		}
	}
}

// namesOf is what a v1 path is called in the version, as one name or several; none if the version does not have it.
func (e *explainer) namesOf(path string) []string {
	if e.gvk.Version == hubVersion {
		return []string{path}
	}
	var names []string
	for _, one := range alternatives(path) {
		name := conversion.SpokePath(e.gvk.GroupKind(), e.gvk.Version, one)
		if !inAnnotation(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
