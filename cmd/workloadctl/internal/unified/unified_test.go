package unified

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	cases := map[string]struct{ reason, from, to, want string }{
		"equal":     {"nothing is said", "a\nb\n", "a\nb\n", ""},
		"from none": {"a new text begins at line 0 of nothing", "", "a\nb\n", "--- x\n+++ y\n@@ -0,0 +1,2 @@\n+a\n+b\n"},
		"to none":   {"and the other way round", "a\n", "", "--- x\n+++ y\n@@ -1,1 +0,0 @@\n-a\n"},
		"a change":  {"three lines around it", "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "--- x\n+++ y\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		"two hunks": {"what is far apart is apart", "a\n1\n2\n3\n4\n5\n6\n7\nb\n", "1\n2\n3\n4\n5\n6\n7\n", "--- x\n+++ y\n@@ -1,4 +1,3 @@\n-a\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-b\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Diff("x", "y", c.from, c.to)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestPatch: patch makes the second text of the first and the difference.
func TestPatch(t *testing.T) {
	patch, err := exec.LookPath("patch")
	if err != nil {
		t.Log("there is no patch command: the difference is applied by hand")
	}
	random := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var out strings.Builder
		for range random.IntN(40) {
			out.WriteString(string(rune('a'+random.IntN(4))) + "\n")
		}
		return out.String()
	}
	for range 200 {
		from, to := text(), text()
		got := ""
		for _, l := range compare(split(from), split(to)) {
			if l.mark != '-' {
				got += l.text + "\n"
			}
		}
		if got != to {
			t.Fatalf("from %q to %q: got %q", from, to, got)
		}
	}
	if patch == "" {
		return
	}
	for range 10 {
		from, to := text()+"end\n", text()+"end\n"
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, []byte(from), 0o600); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), patch, "-s", file)
		command.Stdin = strings.NewReader(Diff("file", "file", from, to))
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != to {
			t.Fatalf("from %q to %q: got %q, %v", from, to, got, err)
		}
	}
}
