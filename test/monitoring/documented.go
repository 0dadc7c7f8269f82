package monitoring

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Prefix of the operator's own metrics.
const Prefix = "workload_operator_"

// Metric is a row of docs/metrics.md.
type Metric struct {
	Name, Type string
	Labels     []string
	// Meaning is the help text for metrics of the operator.
	Meaning string
}

var (
	row  = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| ([^|]*) ?\\| (.*) \\|$")
	name = regexp.MustCompile("`([a-z_]+)`")
)

// Documented returns the rows of docs/metrics.md by name. root is the root of the repository.
func Documented(root string) (map[string]Metric, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "metrics.md"))
	if err != nil {
		return nil, err
	}
	documented := map[string]Metric{}
	for _, cells := range row.FindAllStringSubmatch(string(text), -1) {
		m := Metric{Name: cells[1], Type: cells[2], Meaning: cells[4]}
		for _, label := range name.FindAllStringSubmatch(cells[3], -1) {
			m.Labels = append(m.Labels, label[1])
		}
		if _, twice := documented[m.Name]; twice {
			return nil, fmt.Errorf("docs/metrics.md has two rows for %s", m.Name)
		}
		documented[m.Name] = m
	}
	if rows := strings.Count(string(text), "\n| `"); rows != len(documented) {
		return nil, fmt.Errorf("docs/metrics.md: %d rows of metrics are read, and there are %d", len(documented), rows)
	}
	return documented, nil
}
