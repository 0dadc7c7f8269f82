package main

import (
	"strings"
	"testing"
)

// FuzzConvert: whatever comes in, the command ends with 0 or 1, or 2 if nothing came in, says why on one line for each error, and writes nothing then.
func FuzzConvert(f *testing.F) {
	for _, s := range []string{
		"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: {env: {a: &x 1, b: *x}, <<: {c: d}}\n# c\n---\nkind: X\n",
		"%YAML 1.1\n--- !!map\nkind: WebApp # c\napiVersion: app.example.com/v1\nspec:\n  # h\n  env:\n  - name: a # l\n    value: |+\n      x\n\n",
		`{"apiVersion":"batch.example.com/v1","kind":"PodSetList","items":[{"spec":{"replicas":1e400}}]}{}`,
	} {
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, stdin string, down bool) {
		got := runWith(stdin, "convert", "-f", "-", "--to", oneOf(down, bothDown, bothUp), "--update-last-applied")
		if got.code == exitUsage && strings.HasPrefix(got.stderr, "Error: no objects in ") || strings.Contains(got.stderr, "is UTF-16") {
			return
		}
		if got.code != exitOK && got.code != exitFailure {
			t.Fatalf("exit code %d", got.code)
		}
		if got.code == exitFailure && (got.stdout != "" || !strings.Contains(got.stderr, "Error: stdin: document ")) {
			t.Fatalf("%q: got %+v", stdin, got)
		}
		for line := range strings.Lines(got.stderr) {
			if !strings.HasPrefix(line, "Error: ") && !strings.HasPrefix(line, "Warning: ") {
				t.Fatalf("%q: stderr has the line %q", stdin, line)
			}
		}
		if got.code == exitOK {
			again := runWith(got.stdout, "convert", "-f", "-", "--to", oneOf(down, bothDown, bothUp), "--update-last-applied")
			if again.code != exitOK || again.stdout != got.stdout {
				t.Fatalf("%q became %q and then %+v", stdin, got.stdout, again)
			}
		}
	})
}
