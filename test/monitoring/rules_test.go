package monitoring

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"

	"sigs.k8s.io/yaml"
)

var root = filepath.Join("..", "..")

// rule is an entry of a PrometheusRule.
type rule struct {
	Record      string            `json:"record,omitempty"`
	Alert       string            `json:"alert,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// rules are those of config/monitoring/rules.yaml, in order, and the spec as it stands there.
func rules(t *testing.T) (all []rule, spec map[string]any) {
	t.Helper()
	var object struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct{ Groups []struct{ Rules []rule } }
	}
	raw, err := os.ReadFile(filepath.Join(root, "config", "monitoring", "rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var whole struct{ Spec map[string]any }
	if err := yaml.Unmarshal(raw, &object); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(raw, &whole); err != nil {
		t.Fatal(err)
	}
	if object.Kind != "PrometheusRule" || object.Metadata.Name != "workload-operator" {
		t.Errorf("it is the %s %s", object.Kind, object.Metadata.Name)
	}
	for _, group := range object.Spec.Groups {
		all = append(all, group.Rules...)
	}
	if len(all) < 30 {
		t.Fatalf("only %d rules found", len(all))
	}
	return all, whole.Spec
}

// TestRulesNameWhatThereIs: an expression over a metric or a label that does not exist never fires, and nobody notices.
func TestRulesNameWhatThereIs(t *testing.T) {
	known := vocabularyOf(t)
	all, _ := rules(t)
	for _, r := range all {
		for _, mistake := range known.mistakes(r.Expr) {
			t.Errorf("%s%s: %s", r.Record, r.Alert, mistake)
		}
	}
}

var severities = []string{"critical", "warning", "info"}

// TestAlertsAreComplete: whoever is woken finds out what it means and what to do, on a page that exists.
func TestAlertsAreComplete(t *testing.T) {
	const page = "https://github.com/example/workload-operator/blob/main/docs/runbooks.md#"
	runbooks := sections(t, "runbooks.md")
	all, _ := rules(t)
	alerts := map[string]bool{}
	for _, r := range all {
		if r.Alert == "" {
			continue
		}
		alerts[strings.ToLower(r.Alert)] = true
		if !slices.Contains(severities, r.Labels["severity"]) {
			t.Errorf("%s has the severity %q", r.Alert, r.Labels["severity"])
		}
		for _, annotation := range []string{"summary", "description"} {
			text := r.Annotations[annotation]
			if !strings.HasSuffix(text, ".") {
				t.Errorf("%s: the %s %q is no sentence", r.Alert, annotation, text)
			}
			checkTemplate(t, r, text)
		}
		anchor, ours := strings.CutPrefix(r.Annotations["runbook_url"], page)
		text, exists := runbooks[anchor]
		switch {
		case !ours || anchor != strings.ToLower(r.Alert):
			t.Errorf("%s has the runbook %q, want %s%s", r.Alert, r.Annotations["runbook_url"], page, strings.ToLower(r.Alert))
		case !exists:
			t.Errorf("docs/runbooks.md has no section #%s", anchor)
		default:
			for _, part := range []string{"**Meaning.**", "**Impact.**", "**Look.**", "**Fix.**"} {
				if !strings.Contains(text, part) {
					t.Errorf("the runbook of %s has no %s", r.Alert, part)
				}
			}
		}
	}
	for anchor := range runbooks {
		if strings.HasPrefix(anchor, "workloadoperator") && !alerts[anchor] {
			t.Errorf("docs/runbooks.md#%s belongs to no alert", anchor)
		}
	}
}

var label = regexp.MustCompile(`\$labels\.(\w+)`)

// checkTemplate: the text is a template that Prometheus can read, and the labels in it are those that the expression leaves.
func checkTemplate(t *testing.T, r rule, text string) {
	t.Helper()
	functions := template.FuncMap{}
	for _, name := range []string{"humanize", "humanize1024", "humanizeDuration", "humanizePercentage"} {
		functions[name] = func(any) string { return "" }
	}
	if _, err := template.New("").Funcs(functions).Parse("{{ $labels := .Labels }}{{ $value := .Value }}" + text); err != nil {
		t.Errorf("%s: %v", r.Alert, err)
	}
	for _, match := range label.FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`\b`+match[1]+`\b`).MatchString(r.Expr) && !strings.Contains(r.Expr, ":") {
			t.Errorf("%s: the text has the label %s, which the expression does not have", r.Alert, match[1])
		}
	}
}

// italics are text between single asterisks.
var italics = regexp.MustCompile(`(?:^|[^*])\*([A-Z][^*]+)\*(?:[^*]|$)`)

var heading = regexp.MustCompile(`(?m)^#{2,3} (.*)$`)

// sections are the parts of a page of docs below a heading, by the anchor of the heading.
func sections(t *testing.T, page string) map[string]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	parts := map[string]string{}
	found := heading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		anchor := strings.ReplaceAll(strings.ToLower(strings.Trim(text[at[2]:at[3]], "`")), " ", "-")
		parts[anchor] = text[at[1]:end]
	}
	return parts
}

// TestAlertsAreListed: docs/operate.md has the table of the alerts.
func TestAlertsAreListed(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\(runbooks.md#(\w+)\) \| (\w+) \|`).FindAllStringSubmatch(string(raw), -1) {
		listed[match[1]] = match[3]
		if match[2] != strings.ToLower(match[1]) {
			t.Errorf("%s links to #%s", match[1], match[2])
		}
	}
	want := map[string]string{}
	all, _ := rules(t)
	for _, r := range all {
		if r.Alert != "" {
			want[r.Alert] = r.Labels["severity"]
		}
	}
	if !maps.Equal(want, listed) {
		t.Errorf("docs/operate.md lists %v, and the alerts are %v", listed, want)
	}
}
