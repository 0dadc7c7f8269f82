package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestValidateExitCodes(t *testing.T) {
	good := "apiVersion: app.example.com/v1\nkind: WebApp\nmetadata: {name: w}\nspec: {image: \"web:1\"}\n"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"valid":            {good, []string{"-f", "-"}, exitOK, "1 valid, 0 invalid"},
		"nothing":          {"", []string{"-f", "-"}, exitUsage, "no objects in stdin"},
		"unknown stored":   {strings.Replace(good, "WebApp", "WebAp", 1), []string{"-f", "../../config/samples", "--stored", "-"}, exitUsage, `no kind "WebAp"`},
		"broken stored":    {"a: {{\n", []string{"-f", "../../config/samples", "--stored", "-"}, exitUsage, "stdin: document 1: line 1"},
		"foreign":          {"kind: Other\n---\n{\"kind\": \"Another\"}\n", []string{"-f", "-"}, exitOK, "of other kinds, not judged: 2"},
		"invalid":          {strings.Replace(good, "web:1", "Web App", 1), []string{"-f", "-"}, exitFailure, "spec.image"},
		"unreadable":       {good + "---\na: {{\n", []string{"-f", "-"}, exitFailure, "1 valid, 1 invalid"},
		"no file":          {"", nil, exitUsage, "say what to validate with -f"},
		"no such file":     {"", []string{"-f", filepath.Join(t.TempDir(), "none.yaml")}, exitUsage, "no such file"},
		"no such stored":   {good, []string{"-f", "-", "--stored", filepath.Join(t.TempDir(), "none.yaml")}, exitUsage, "no such file"},
		"unreadable store": {good, []string{"-f", "../../config/samples", "--stored", "-"}, exitOK, "4 valid"},
		"a format":         {good, []string{"-f", "-", "-o", "xml"}, exitUsage, "use table, json or junit"},
		"stdin twice":      {good, []string{"-f", "-", "--stored", "-"}, exitUsage, "-f - can be read only once"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runWith(c.stdin, append([]string{"validate"}, c.args...)...)
			if got.code != c.code || !strings.Contains(got.stdout+got.stderr, c.says) || (got.code == exitUsage) != (got.stdout == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
