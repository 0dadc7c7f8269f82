package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/example/workload-operator/cmd/workloadctl/internal/closest"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// ruleFilter says which rules are asked for. Empty is any.
type ruleFilter struct {
	kind, version, floor string

	texts []string // each of them has to match
}

func (f ruleFilter) filter(all []webhooks.Rule) (rules []webhooks.Rule) {
	for _, rule := range all {
		if f.matches(rule) {
			rules = append(rules, rule)
		}
	}
	return rules
}

func (f ruleFilter) matches(rule webhooks.Rule) bool {
	if f.kind != "" && rule.Kind != f.kind || f.version != "" && rule.Version != f.version || f.floor != "" && string(rule.Floor) != f.floor {
		return false
	}
	return !slices.ContainsFunc(f.texts, func(text string) bool { return !matchesText(rule, text) })
}

// matchesText takes a text for a kind, version or floor if it is one, and else looks for it in field and messages.
func matchesText(rule webhooks.Rule, text string) bool {
	if kind := known(text, kindNames()); kind != "" {
		return rule.Kind == kind
	}
	if version := known(text, candidateVersions); version != "" {
		return rule.Version == version
	}
	if floor := known(text, floors); floor != "" {
		return string(rule.Floor) == floor
	}
	wanted := strings.ToLower(indexOrKey.ReplaceAllString(text, "[*]"))
	for _, field := range fieldsIn(fieldOf(rule)) {
		if strings.Contains(strings.ToLower(field), wanted) {
			return true
		}
	}
	return slices.ContainsFunc(rule.Messages, func(message string) bool { return strings.Contains(strings.ToLower(message), strings.ToLower(text)) })
}

var (
	indexOrKey   = regexp.MustCompile(`\[[^\]]*\]`)
	alternatives = regexp.MustCompile(`\{([^{}]*)\}`)
)

// fieldsIn are the fields of a path with alternatives in braces.
func fieldsIn(path string) (fields []string) {
	at := alternatives.FindStringSubmatchIndex(path)
	if at == nil {
		return []string{path}
	}
	for name := range strings.SplitSeq(path[at[2]:at[3]], ",") {
		fields = append(fields, fieldsIn(path[:at[0]]+name+path[at[1]:])...)
	}
	return fields
}

// nothing says that no rule matches, and what was probably meant.
func (f ruleFilter) nothing(all []webhooks.Rule) string {
	var fields []string
	for _, rule := range all {
		for _, field := range fieldsIn(fieldOf(rule)) {
			fields = append(fields, field, field[strings.LastIndexByte(field, '.')+1:])
		}
	}
	for _, text := range f.texts {
		if len(ruleFilter{texts: []string{text}}.filter(all)) > 0 {
			continue
		}
		if meant, ok := closest.Word(text, slices.Concat(kindNames(), fields)); ok {
			return fmt.Sprintf("no rule matches %q; did you mean %q?", text, meant)
		}
		return fmt.Sprintf("no rule matches %q", text)
	}
	return "no rule matches all of it"
}

// known is the word of a list that a text means, whatever its case; empty if it is none. Kinds may be written as kubectl takes them.
func known(text string, words []string) string {
	for _, word := range words {
		short := kindSpellings[word]
		if strings.EqualFold(text, word) || slices.ContainsFunc(short, func(name string) bool { return strings.EqualFold(text, name) }) {
			return word
		}
	}
	return ""
}

// kindSpellings are the other names of our kinds.
var kindSpellings = map[string][]string{"WebApp": {"webapps", "wa"}, "PodSet": {"podsets", "ps"}}

func kindNames() (names []string) {
	for _, kind := range conversion.Kinds() {
		names = append(names, kind.Kind)
	}
	slices.Sort(names)
	return names
}

// completeRules offers what an argument can be: kinds, versions, floors, and the fields that have rules.
func completeRules(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	all, err := allRules()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	words := slices.Concat(kindNames(), candidateVersions, floors)
	for _, rule := range (ruleFilter{texts: args}).filter(all) {
		if rule.Field != "" {
			words = append(words, fieldsIn(rule.Field)...)
		}
	}
	slices.Sort(words)
	words = slices.DeleteFunc(slices.Compact(words), func(word string) bool {
		return slices.Contains(args, word) || !strings.HasPrefix(strings.ToLower(word), strings.ToLower(typed))
	})
	return words, cobra.ShellCompDirectiveNoFileComp
}
