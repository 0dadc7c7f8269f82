package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vocabulary is what expressions may name: metrics with their labels.
type vocabulary map[string][]string

// targetLabels are what Prometheus adds to every series.
var targetLabels = []string{"namespace", "job", "instance", "pod", "service", "endpoint", "container"}

func vocabularyOf(t *testing.T) vocabulary {
	t.Helper()
	documented, err := Documented(root)
	if err != nil {
		t.Fatal(err)
	}
	known := vocabulary{}
	for name, m := range documented {
		if m.Type != "histogram" {
			known[name] = m.Labels
			continue
		}
		known[name+"_count"], known[name+"_sum"] = m.Labels, m.Labels
		known[name+"_bucket"] = append(slices.Clone(m.Labels), "le")
	}
	all, _ := rules(t)
	for _, r := range all {
		if r.Record != "" {
			known[r.Record] = groupedBy(r.Expr)
		}
	}
	return known
}

var (
	text      = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	grouping  = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	duration  = regexp.MustCompile(`\[[^\]]*\]`)
	selector  = regexp.MustCompile(`([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}`)
	matcher   = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	word      = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*\s*\(?`)
	operators = []string{"and", "or", "unless", "bool", "offset", "by", "on"}
)

// mistakes are the metrics and labels in an expression that do not exist.
func (v vocabulary) mistakes(expression string) []string {
	expression = text.ReplaceAllString(expression, `""`)
	var found []string
	used := map[string]bool{}
	for _, match := range selector.FindAllStringSubmatch(expression, -1) {
		for _, l := range matcher.FindAllStringSubmatch(match[2], -1) {
			if labels, known := v[match[1]]; known && !slices.Contains(labels, l[1]) && !slices.Contains(targetLabels, l[1]) {
				found = append(found, fmt.Sprintf("%s has no label %s", match[1], l[1]))
			}
		}
	}
	bare := selector.ReplaceAllString(duration.ReplaceAllString(expression, ""), "$1 ")
	for _, name := range word.FindAllString(grouping.ReplaceAllString(bare, ""), -1) {
		name = strings.TrimSpace(name)
		if strings.HasSuffix(name, "(") || slices.Contains(operators, name) {
			continue
		}
		used[name] = true
		if _, known := v[name]; !known {
			found = append(found, fmt.Sprintf("there is no metric %s in docs/metrics.md", name))
		}
	}
	for _, l := range groupedBy(expression) {
		has := func(metric string) bool { return slices.Contains(v[metric], l) }
		if !slices.Contains(targetLabels, l) && !slices.ContainsFunc(slices.Collect(maps.Keys(used)), has) {
			found = append(found, fmt.Sprintf("none of the metrics has the label %s", l))
		}
	}
	if len(used) == 0 {
		found = append(found, "no metric is named")
	}
	return found
}

// groupedBy are the labels in all groupings of an expression.
func groupedBy(expression string) []string {
	var labels []string
	for _, match := range grouping.FindAllStringSubmatch(expression, -1) {
		for l := range strings.SplitSeq(match[1], ",") {
			labels = append(labels, strings.TrimSpace(l))
		}
	}
	return labels
}

// The check itself finds what it is there for.
func TestMistakesAreFound(t *testing.T) {
	known := vocabulary{"up_total": {"code"}, "size_bucket": {"le", "kind"}, "a:b:p99": {"kind"}}
	tests := map[string]struct {
		expression string
		want       int
	}{
		"sound":              {`sum by (job, code) (rate(up_total{code=~"5..|made_up"}[5m])) > 0.1 and on (job) a:b:p99 unless size_bucket`, 0},
		"histogram":          {`histogram_quantile(0.99, sum by (le) (rate(size_bucket[5m])))`, 0},
		"unknown metric":     {`rate(uptotal[5m])`, 1},
		"whole histogram":    {`size > 1`, 1},
		"unknown label":      {`up_total{codes="500"}`, 1},
		"unknown grouping":   {`sum by (codes) (up_total)`, 1},
		"unknown record":     {`a:c:p99 > 1`, 1},
		"nothing but a time": {`time() > 1`, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := known.mistakes(test.expression); len(got) != test.want {
				t.Errorf("got %v, want %d", got, test.want)
			}
		})
	}
}
