package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const input = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string, pattern: "^<a>$"}
              count: {type: integer, format: int32, default: 1, minimum: 1}
              mode: {type: string, enum: [A, B]}
              port: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}
              list: {type: array, items: {type: string}}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: string}}}
              rule: {type: boolean, x-kubernetes-validations: [{rule: self}]}
`

func TestRun(t *testing.T) {
	dir := t.TempDir()
	stale := filepath.Join(dir, "example.com", "thing_v1beta1.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(stale), 0o755), os.WriteFile(stale, nil, 0o600), os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := run(strings.NewReader(input), dir); err != nil {
		t.Fatal(err)
	}
	want := object{
		"type": "object",
		"properties": object{
			"name":  object{"type": "string", "pattern": "^<a>$"},
			"count": object{"type": []any{"integer", "null"}, "default": 1.0, "minimum": 1.0, "maximum": 2147483647.0},
			"mode":  object{"type": []any{"string", "null"}, "enum": []any{"A", "B", nil}},
			"port":  object{"type": []any{"integer", "string", "null"}},
			"list":  object{"type": []any{"array", "null"}, "items": object{"type": "string"}},
			"free":  object{"type": []any{"object", "null"}, "properties": object{"a": object{"type": []any{"string", "null"}}}},
			"rule":  object{"type": []any{"boolean", "null"}},
		},
		"required": []any{"name"},
	}
	lenient, strict := read(t, dir, "thing_v1.json"), read(t, dir, "thing_v1-strict.json")
	if diff := cmp.Diff(want, spec(lenient)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]any{"apiVersion", "kind", "spec"}, lenient["required"]); diff != "" {
		t.Errorf("required (-want +got):\n%s", diff)
	}
	want["additionalProperties"] = false
	if diff := cmp.Diff(want, spec(strict)); diff != "" {
		t.Errorf("strict spec (-want +got):\n%s", diff)
	}
	if got := strict["properties"].(object)["apiVersion"].(object)["const"]; got != "example.com/v1" {
		t.Errorf("apiVersion is %v", got)
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the schema of a version that is gone is left: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "README.md")); err != nil {
		t.Error(err)
	}
}

func TestRunWithoutInputChangesNothing(t *testing.T) {
	for name, in := range map[string]string{"nothing": "", "no definition": "kind: [\n"} {
		dir := t.TempDir()
		if err := run(strings.NewReader(in), dir); err == nil {
			t.Errorf("%s: no error", name)
		}
		if entries, _ := os.ReadDir(dir); len(entries) > 0 {
			t.Errorf("%s: wrote %v", name, entries)
		}
	}
}

func read(t *testing.T, dir, name string) (schema object) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "example.com", name))
	if err == nil {
		err = json.Unmarshal(data, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func spec(schema object) object { return schema["properties"].(object)["spec"].(object) }
