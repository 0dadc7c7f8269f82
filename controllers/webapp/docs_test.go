package webapp

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDocumentation compares the tables of docs/webapp.md with the constants of the code: no row is missing, and none is
// left over.
func TestDocumentation(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "webapp.md"))
	if err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join("..", "..", "apis", "workload", "v1", "conditions.go")
	notOurs := []string{"ReplicaFailure"} // a condition of PodSets
	tests := map[string]struct {
		head string // of the first column
		want []string
	}{
		"conditions": {"condition", slices.DeleteFunc(constants(t, shared, "Condition"), func(c string) bool { return slices.Contains(notOurs, c) })},
		"reasons": {"reason", slices.Concat(constants(t, shared, "Reason"),
			constants(t, filepath.Join("..", "..", "apis", "app", "v1", "conditions.go"), "Reason"),
			constants(t, filepath.Join("..", "podhealth", "podhealth.go"), "Reason"))},
		"events": {"event", constants(t, "events.go", "event")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := rows(string(raw), test.head)
			slices.Sort(got)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("rows of docs/webapp.md (-constants, +rows):\n%s", diff)
			}
		})
	}
}

// constants returns the values of the string constants in a file whose names begin so.
func constants(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("%s has no constants %s*", file, prefix)
	}
	return values
}

// rows returns the first cells of the table whose first column has the head.
func rows(document, head string) []string {
	_, table, _ := strings.Cut(document, "\n| "+head+" |")
	table, _, _ = strings.Cut(table, "\n\n")
	var cells []string
	for _, match := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		cells = append(cells, match[1])
	}
	return cells
}
