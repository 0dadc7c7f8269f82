package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/example/workload-operator/webhooks"
)

const (
	rulesPage  = "../../docs/rules.md"
	rulesBegin = "<!-- rules begin -->\n"
	rulesEnd   = "<!-- rules end -->\n"
)

// TestRulesDocumentation: the tables of the documentation are the rules that admission applies.
func TestRulesDocumentation(t *testing.T) {
	text, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), rulesBegin)
	_, after, ended := strings.Cut(rest, rulesEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for rules", rulesPage)
	}
	all, err := allRules()
	if err != nil {
		t.Fatal(err)
	}
	want := before + rulesBegin + markdownRules(all) + "\n" + rulesEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: run go test ./cmd/workloadctl -run TestRulesDocumentation -update", rulesPage)
	}
	if err := os.WriteFile(rulesPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRulesReasons: the page says why each rule of the webhook is one.
func TestRulesReasons(t *testing.T) {
	text, err := os.ReadFile(rulesPage)
	if err != nil {
		t.Fatal(err)
	}
	all, err := allRules()
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	for _, rule := range all {
		if rule.Floor == webhooks.FloorWebhook {
			reasons[rule.Why] = true
		}
	}
	section, _, _ := strings.Cut(string(text), "## All rules")
	_, section, _ = strings.Cut(section, "## What needs the webhook")
	if rows := strings.Count(section, "\n| ") - 1; rows != len(reasons) {
		t.Errorf("the page has %d kinds of reasons, the rules %d", rows, len(reasons))
	}
}

func TestExplainRulesCommand(t *testing.T) {
	got := runWith("", "explain-rules", "--kind", "WebApp", "--version", "v1alpha1", "--floor", "CEL")
	if got.code != exitOK || got.stderr != "" || !strings.Contains(got.stdout, "spec.scale.max\n") || strings.Contains(got.stdout, "schema") {
		t.Errorf("got %+v", got)
	}
	for line := range strings.Lines(runWith("", "explain-rules").stdout) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > plainWidth && len(strings.Fields(line)) > 1 {
			t.Errorf("a line of %d characters: %s", width, line)
		}
	}
	var rules []webhooks.Rule
	got = runWith("", "explain-rules", "--floor", "webhook", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &rules); err != nil || len(rules) < 100 {
		t.Errorf("%d rules: %v", len(rules), err)
	}
	for want, args := range map[string][]string{
		`--floor "attic": use schema, CEL, webhook`:                    {"--floor", "attic"},
		`-o "xml": use text, json or markdown`:                         {"-o", "xml"},
		`--kind "Nothing": use PodSet, WebApp`:                         {"--kind", "Nothing"},
		`--version "v2": use v1, v1alpha1`:                             {"--version", "v2"},
		`no rule matches "spec.imag3"; did you mean "spec.image"?`:     {"spec.imag3"},
		`no rule matches "volumeMonuts"; did you mean "volumeMounts"?`: {"volumeMonuts"},
		`no rule matches "qqqqqqqqqq"`:                                 {"webapp", "qqqqqqqqqq"},
		"no rule matches all of it":                                    {"podset", "spec.autoscaling"},
	} {
		want = "Error: " + want + " (see workloadctl explain-rules --help)\n"
		if got := runWith("", append([]string{"explain-rules"}, args...)...); got.code != exitUsage || got.stdout != "" || got.stderr != want {
			t.Errorf("%v: got %+v, want %s", args, got, want)
		}
	}
}

// TestRuleFilter: what is asked for in different words is the same.
func TestRuleFilter(t *testing.T) {
	of := func(args ...string) string {
		got := runWith("", append([]string{"explain-rules", "-o", "json"}, args...)...)
		if got.code != exitOK {
			t.Errorf("%v: got %+v", args, got)
		}
		return got.stdout
	}
	for name, asked := range map[string][2][]string{
		"case of a flag":        {{"--kind", "webapp", "--version", "V1", "--floor", "cel"}, {"--kind", "WebApp", "--version", "v1", "--floor", "CEL"}},
		"arguments as flags":    {{"WEBAPPS", "v1alpha1", "Webhook"}, {"--kind", "WebApp", "--version", "v1alpha1", "--floor", "webhook"}},
		"short name":            {{"ps"}, {"--kind", "podset"}},
		"case of a field":       {{"SPEC.volumemounts"}, {"spec.volumeMounts"}},
		"index of a refusal":    {{"spec.env[3].name"}, {"spec.env[*].name"}},
		"key of a refusal":      {{"spec.resources.limits[example.com/gpu]"}, {"spec.resources.limits[*]"}},
		"part of a refusal":     {{"IMAGE reference such"}, {"must be an image reference"}},
		"the order is the same": {{"v1", "wa", "env"}, {"env", "wa", "v1"}},
	} {
		if a, b := of(asked[0]...), of(asked[1]...); a != b || a == "" {
			t.Errorf("%s: %v and %v are not the same", name, asked[0], asked[1])
		}
	}
	one := of("webapp", "v1", "spec.probes.startup")
	if !strings.Contains(one, "spec.probes") || strings.Contains(one, "PodSet") || len(one) > len(of())/10 {
		t.Errorf("one of several names: %s", one)
	}
}

func TestRuleCompletion(t *testing.T) {
	for typed, want := range map[string]string{"web": "WebApp", "ce": "CEL", "v1a": "v1alpha1", "SPEC.suspen": ":", "spec.volumem": "spec.volumeMounts"} {
		if got := runWith("", "__complete", "explain-rules", "wa", typed); !strings.HasPrefix(got.stdout, want) {
			t.Errorf("%s: got %q", typed, got.stdout)
		}
	}
	if got := runWith("", "__complete", "explain-rules", "--kind", ""); !strings.HasPrefix(got.stdout, "PodSet\nWebApp\n") {
		t.Errorf("--kind: got %q", got.stdout)
	}
}
