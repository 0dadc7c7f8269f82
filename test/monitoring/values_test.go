package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	alertRow  = regexp.MustCompile(`(?m)^\| \[(\w+)\]\([^)]+\) \| \w+ \| (.*) \|$`)
	lasting   = regexp.MustCompile(`^(.*?),? ?for (\d+|an?) (minute|hour|day)s?$`)
	number    = regexp.MustCompile(`(^|[ (*|])([0-9]+(?:\.[0-9]+)?)\b`)
	labelled  = regexp.MustCompile(`(workload_operator_\w+?)(?:_count|_sum|_bucket)?\{([^}]*)\}`)
	verdicts  = regexp.MustCompile(`(verdict|result)=~?"([^"]*)"`)
	metricRow = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|.*$")
)

// What docs/operate.md says of an alert is what its expression says: each number, and how long it has to hold.
func TestThresholdsAreListed(t *testing.T) {
	all, _ := rules(t)
	byName := map[string]rule{}
	for _, r := range all {
		byName[r.Alert] = r
	}
	rows := alertRow.FindAllStringSubmatch(page(t, "operate.md"), -1)
	if len(rows) < 20 {
		t.Fatalf("only %d alerts in the table", len(rows))
	}
	for _, row := range rows {
		if problem := otherValue(byName[row[1]], row[2]); problem != "" {
			t.Errorf("%s: %q: %s", row[1], row[2], problem)
		}
	}
	wrong := rule{Expr: "x:rate5m > 5000", For: "30m"}
	for text, fine := range map[string]bool{"more than 5000, for 30 minutes": true, "more than 50, for 30 minutes": false, "more than 5000, for 3 minutes": false} {
		if (otherValue(wrong, text) == "") != fine {
			t.Errorf("%q of %+v: %q", text, wrong, otherValue(wrong, text))
		}
	}
}

// otherValue is what a description has and the rule has not. A percentage, a count each minute and one in so many are ratios there.
func otherValue(r rule, text string) string {
	if found := lasting.FindStringSubmatch(text); found != nil {
		count := strings.NewReplacer("an", "1", "a", "1").Replace(found[2])
		if want := count + found[3][:1]; want != r.For {
			return "it is for " + r.For
		}
		text = found[1]
	}
	var values []float64
	for _, token := range number.FindAllStringSubmatch(r.Expr, -1) {
		value, _ := strconv.ParseFloat(token[2], 64) // the expression has made sure
		values = append(values, value)
	}
	for _, token := range number.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(token[2], 64)
		if !slices.ContainsFunc([]float64{n, n / 100, n / 60, 1 / n}, func(v float64) bool { return slices.Contains(values, v) }) && !strings.Contains(r.Expr, "["+token[2]+"m]") {
			return token[2] + " is not in " + r.Expr
		}
	}
	return ""
}

// The verdicts and results that expressions ask for are those that docs/metrics.md lists, which is held to the code.
func TestVerdictsExist(t *testing.T) {
	rows := map[string]string{}
	for _, row := range metricRow.FindAllStringSubmatch(page(t, "metrics.md"), -1) {
		rows[row[1]] = row[0]
	}
	all, _ := rules(t)
	count := 0
	for _, r := range all {
		for _, found := range labelled.FindAllStringSubmatch(r.Expr, -1) {
			for _, label := range verdicts.FindAllStringSubmatch(found[2], -1) {
				count++
				if !regexp.MustCompile(`\b(` + label[2] + `)\b`).MatchString(rows[found[1]]) {
					t.Errorf("%s%s: %s has no %s %q", r.Alert, r.Record, found[1], label[1], label[2])
				}
			}
		}
	}
	if count < 4 {
		t.Errorf("only %d verdicts and results found", count)
	}
}

func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
