package conversion

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write generated files anew: the tables of docs/conversion.md, the inputs of the fuzz targets")

const (
	documentation = "../docs/conversion.md"
	fieldsBegin   = "<!-- fields begin -->\n"
	fieldsEnd     = "<!-- fields end -->\n"
)

// TestDocumentation: the field tables of the documentation are those that the converter runs.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(documentation)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), fieldsBegin)
	_, after, ended := strings.Cut(rest, fieldsEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for fields", documentation)
	}
	want := before + fieldsBegin + fieldTables() + fieldsEnd + after
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is out of date: run go test ./conversion -run TestDocumentation -update", documentation)
	}
	if err := os.WriteFile(documentation, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func fieldTables() string {
	var out strings.Builder
	for _, c := range standard.all {
		fmt.Fprintf(&out, "\n### %s\n\n| field | v1alpha1 path | v1 path | policy | example |\n|---|---|---|---|---|\n", c.kind.Kind)
		for _, field := range Fields(c.kind, c.version) {
			spoke := "-"
			if field.Spoke != "" {
				spoke = "`" + strings.ReplaceAll(field.Spoke, " ", "`, `") + "`"
			}
			example := strings.ReplaceAll(field.Example, " -> ", "` -> `")
			fmt.Fprintf(&out, "| %s | %s | `%s` | %s | `%s` |\n", fieldName(field.Hub), spoke, field.Hub, field.Policy, example)
		}
	}
	return out.String() + "\n"
}

// fieldName is the last name of a path.
func fieldName(path string) string {
	if key, moved := strings.CutPrefix(path, annotationPath); moved {
		path = strings.TrimSuffix(strings.ReplaceAll(key, "/", "."), "]")
	}
	return path[strings.LastIndexByte(path, '.')+1:]
}
