package podset

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

var conditionRow = regexp.MustCompile("(?m)^\\| (\\w+)=(?:True|False) \\| `(\\w+)` \\|")

// TestDocumentedConditions holds the table in docs/podset.md to the constants: each reason that a PodSet can have is in it, and
// no other, with a condition that there is.
func TestDocumentedConditions(t *testing.T) {
	root := filepath.Join("..", "..")
	document, err := os.ReadFile(filepath.Join(root, "docs", "podset.md"))
	if err != nil {
		t.Fatal(err)
	}
	conditions, documented := map[string]bool{}, map[string]bool{}
	for _, row := range conditionRow.FindAllSubmatch(document, -1) {
		conditions[string(row[1])], documented[string(row[2])] = true, true
	}
	wanted := map[string]bool{
		workloadv1.ReasonReady: true, workloadv1.ReasonProgressing: true, workloadv1.ReasonSuspended: true,
		workloadv1.ReasonInvalidSpec: true, workloadv1.ReasonReplicaFailure: true, workloadv1.ReasonUnconvertible: true,
	}
	for _, file := range []string{"apis/batch/v1/conditions.go", "controllers/podhealth/podhealth.go"} {
		maps.Copy(wanted, reasonsIn(t, filepath.Join(root, file)))
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(wanted)), slices.Sorted(maps.Keys(documented))); diff != "" {
		t.Errorf("reasons (-constants, +document):\n%s", diff)
	}
	// Reconciling takes its reason from Ready.
	types := []string{
		workloadv1.ConditionReady, workloadv1.ConditionStalled, workloadv1.ConditionReplicaFailure, workloadv1.ConditionConversionDegraded,
	}
	slices.Sort(types)
	if diff := cmp.Diff(types, slices.Sorted(maps.Keys(conditions))); diff != "" {
		t.Errorf("conditions (-constants, +document):\n%s", diff)
	}
}

// reasonsIn returns the values of the constants of a file whose names begin with Reason.
func reasonsIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		spec, is := node.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		if value, is := spec.Values[0].(*ast.BasicLit); is && value.Kind == token.STRING {
			reason, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			reasons[reason] = true
		}
		return true
	})
	return reasons
}
