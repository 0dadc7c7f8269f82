package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const (
	bothUp   = "app.example.com/v1,batch.example.com/v1"
	bothDown = "app.example.com/v1alpha1,batch.example.com/v1alpha1"
)

type outcome struct {
	code           int
	stdout, stderr string
}

func runWith(stdin string, args ...string) outcome {
	var stdout, stderr bytes.Buffer
	code := execute(append([]string{"workloadctl"}, args...), strings.NewReader(stdin), &stdout, &stderr)
	return outcome{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// converted returns what a conversion of stdin writes, which has to succeed without a warning.
func converted(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	got := runWith(stdin, append([]string{"convert", "-f", "-"}, args...)...)
	if got.code != exitOK || got.stderr != "" {
		t.Fatalf("exit code %d, stderr %s\ninput %q", got.code, got.stderr, stdin)
	}
	return got.stdout
}

func TestUsage(t *testing.T) {
	cases := map[string]struct {
		args []string
		want string
	}{
		"no verb of that name":     {[]string{"konvert"}, `Error: unknown command "konvert" (see workloadctl --help)`},
		"no file":                  {[]string{"convert", "--to", "app.example.com/v1"}, "Error: say what to convert with -f (see workloadctl convert --help)"},
		"no version":               {[]string{"convert", "-f", "-"}, "Error: say with --to what to convert to, one of app.example.com/v1, app.example.com/v1alpha1, batch.example.com/v1, batch.example.com/v1alpha1 for each group (see workloadctl convert --help)"},
		"a version we do not have": {[]string{"convert", "-f", "-", "--to", "app.example.com/v9"}, `Error: --to "app.example.com/v9": use one of app.example.com/v1, app.example.com/v1alpha1, batch.example.com/v1, batch.example.com/v1alpha1 (see workloadctl convert --help)`},
		"two versions of a group":  {[]string{"convert", "-f", "-", "--to", "app.example.com/v1", "--to", "app.example.com/v1alpha1"}, "Error: --to app.example.com/v1 and --to app.example.com/v1alpha1 exclude each other (see workloadctl convert --help)"},
		"a format we do not have":  {[]string{"convert", "-f", "-", "--to", "app.example.com/v1", "-o", "xml"}, `Error: -o "xml": use yaml or json (see workloadctl convert --help)`},
		"stdin twice":              {[]string{"convert", "-f", "-", "-f", "-", "--to", "app.example.com/v1"}, "Error: -f - can be read only once (see workloadctl convert --help)"},
		"an argument":              {[]string{"convert", "x"}, `Error: workloadctl convert takes no arguments, got "x" (see workloadctl convert --help)`},
		"an unknown flag":          {[]string{"convert", "--frob"}, "Error: unknown flag: --frob (see workloadctl convert --help)"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(outcome{code: exitUsage, stderr: c.want + "\n"}, runWith("", c.args...), cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	good := "apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: {}\n---\n"
	cases := map[string]struct{ stdin, want string }{
		"not YAML":          {good + "a: 1\n b: {{\n", "stdin: document 2: line 6: mapping values are not allowed in this context"},
		"truncated JSON":    {`{"kind": "WebApp", `, "stdin: document 1: line 1: did not find expected node content"},
		"unknown version":   {"apiVersion: app.example.com/v9\nkind: WebApp\n", `stdin: document 1: no kind "WebApp" in version "app.example.com/v9"; did you mean "app.example.com/v1"? (there is WebApp in app.example.com/v1, app.example.com/v1alpha1)`},
		"in a list":         {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: app.example.com/v9, kind: WebApp}\n", `stdin: document 1: items[0]: no kind "WebApp" in version "app.example.com/v9"; did you mean "app.example.com/v1"? (there is WebApp in app.example.com/v1, app.example.com/v1alpha1)`},
		"infinite":          {"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: {a: .inf}\n", `stdin: document 1: line 3: ".inf": JSON has no infinite numbers and no .nan`},
		"tag that lies":     {"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: {a: !!int x}\n", `stdin: document 1: line 3: "x" is no !!int`},
		"alias of itself":   {"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: &a {b: *a}\n", "stdin: document 1: line 3: *a stands inside of what it stands for"},
		"aliases by far":    {bomb("*", ""), "stdin: document 1: line 10: aliases expand to more than 8 MiB"},
		"merges by far":     {bomb("*", "<<: "), "stdin: document 1: line 4: more than 10000 mappings are merged"},
		"tabs":              {"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata:\n\tname: w\n", "stdin: document 1: line 4: found character that cannot start any token; tabs cannot indent YAML, use spaces"},
		"broken JSON lines": {"{\"a\": 1}\n\n[2]\n{\"b\n", "stdin: document 1: line 4: broken JSON, after 2 values that can be read"},
		"wrong items":       {"apiVersion: v1\nkind: List\nitems: {a: b}\n", "stdin: document 1: items is no list"},
		"half of a pair":    {`{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"labels":{"x":"\ud800"}}}`, "stdin: document 1: a text with half of a surrogate pair, which YAML cannot hold; use -o json"},
		"more than fits":    {`{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"w","annotations":{"a":"` + strings.Repeat("a", 256<<10-40) + `"}},"spec":{"args":["x"]}}`, "stdin: document 1: WebApp w: spec.args does not fit into the annotations that an object may have"},
		"a key not a value": {"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec: {[a]: b}\n", "stdin: document 1: line 3: a key that is not a single value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runWith(c.stdin, "convert", "-f", "-", "--to", oneOf(strings.Contains(name, "fits"), "app.example.com/v1alpha1", "app.example.com/v1"), "-o", "yaml")
			want := outcome{code: exitFailure, stderr: "Error: " + c.want + "\n"}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func oneOf(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// bomb is a document whose aliases grow tenfold with every line.
func bomb(mark, merge string) string {
	var out strings.Builder
	out.WriteString("apiVersion: app.example.com/v1alpha1\nkind: WebApp\nspec:\n  a0: &a0 {x: xxxxxxxxxxxxxxxx}\n")
	for i := range 9 {
		alias := mark + "a" + string(rune('0'+i))
		list := "[" + strings.TrimSuffix(strings.Repeat(alias+", ", 10), ", ") + "]"
		if merge != "" {
			list = "{" + merge + list + "}"
		}
		out.WriteString("  a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " " + list + "\n")
	}
	return out.String()
}

func TestVersion(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"--version"}} {
		if got := runWith("", args...); got.code != exitOK || strings.TrimSpace(got.stdout) != version() || got.stderr != "" {
			t.Errorf("%v: got %+v", args, got)
		}
	}
}

// TestVersionForScripts: the form is that of kubectl version --client.
func TestVersionForScripts(t *testing.T) {
	former := release
	t.Cleanup(func() { release = former })
	release = "v1.2.3-rc.1"
	for output, parse := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		got := runWith("", "version", "-o", output)
		var report map[string]map[string]string
		if err := parse([]byte(got.stdout), &report); err != nil || got.code != exitOK || got.stderr != "" {
			t.Fatalf("%s: %v, got %+v", output, err, got)
		}
		var names []string
		for name := range report["clientVersion"] {
			names = append(names, name)
		}
		slices.Sort(names)
		if diff := cmp.Diff([]string{"buildDate", "compiler", "gitCommit", "gitTreeState", "gitVersion", "goVersion", "major", "minor", "platform"}, names); diff != "" {
			t.Errorf("%s (-want +got):\n%s", output, diff)
		}
		if v := report["clientVersion"]; v["gitVersion"] != release || v["major"] != "1" || v["minor"] != "2" || v["compiler"] != "gc" || !strings.HasPrefix(v["goVersion"], "go") {
			t.Errorf("%s: got %v", output, v)
		}
	}
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if got := runWith("", "completion", shell); got.code != exitOK || !strings.Contains(got.stdout, "workloadctl") {
			t.Errorf("%s: exit code %d, %d bytes", shell, got.code, len(got.stdout))
		}
	}
	got := runWith("", "__complete", "convert", "--to", "")
	if want := strings.Join(knownVersions(), "\n"); !strings.HasPrefix(got.stdout, want) {
		t.Errorf("--to: got %q, want %q", got.stdout, want)
	}
}

// TestPlugin: through kubectl, help and errors name what the user typed.
func TestPlugin(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := execute([]string{"/usr/local/bin/kubectl-workload", "convert", "--help"}, nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit code %d: %s", code, &stderr)
	}
	for _, want := range []string{"kubectl workload convert -f", "Exit codes:\n"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("help lacks %q:\n%s", want, &stdout)
		}
	}
	if strings.Contains(stdout.String(), "workloadctl") {
		t.Errorf("help names another binary:\n%s", &stdout)
	}
}

// TestExamples runs every example of the help, in a folder with the files they name.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	manifest := "apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {name: w}\nspec: {image: {repository: web}}\n"
	for _, file := range []string{"webapp.yaml", "manifests/deep/webapp.yaml", "manifests/podset.json"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(manifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	ran := 0
	for line := range strings.Lines(newConvertCommand("workloadctl").Example) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		_, command, piped := strings.Cut(line, " | ")
		if !piped {
			command = line
		}
		words := strings.Fields(command)
		if words[0] != "workloadctl" {
			t.Errorf("an example of something else: %s", line)
		}
		got := runWith(manifest, words[1:]...)
		if got.code != exitOK || got.stderr != "" || (got.stdout == "") != slices.Contains(words, "--check") {
			t.Errorf("%s: got %+v", line, got)
		}
		ran++
	}
	if ran != 5 {
		t.Errorf("ran %d examples", ran)
	}
}
