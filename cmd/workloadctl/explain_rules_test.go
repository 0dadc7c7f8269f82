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
	if got.code != exitOK || got.stderr != "" || !strings.Contains(got.stdout, "spec.scale.max ") || strings.Contains(got.stdout, "schema") {
		t.Errorf("got %+v", got)
	}
	for line := range strings.Lines(runWith("", "explain-rules").stdout) {
		if width := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); width > 120 {
			t.Fatalf("a line of %d characters: %s", width, line)
		}
	}
	var rules []webhooks.Rule
	got = runWith("", "explain-rules", "--floor", "webhook", "-o", "json")
	if err := json.Unmarshal([]byte(got.stdout), &rules); err != nil || len(rules) < 100 {
		t.Errorf("%d rules: %v", len(rules), err)
	}
	for _, args := range [][]string{{"--floor", "attic"}, {"-o", "xml"}, {"--kind", "Nothing"}} {
		if got := runWith("", append([]string{"explain-rules"}, args...)...); got.code != exitUsage || got.stdout != "" {
			t.Errorf("%v: got %+v", args, got)
		}
	}
}
