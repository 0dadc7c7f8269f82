package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFolders: manifests of folders come in the order of their names, separated where the files do not do it.
func TestFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	app := "apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {name: "
	up := strings.Replace(app, "v1alpha1", "v1", 1)
	for file, content := range map[string]string{
		"m/a.yaml":      app + "a}",
		"m/b.yml":       "\ufeff# of b\n" + app + "b}\n",
		"m/c.json":      `{"kind": "Other"}`,
		"m/d.json":      `{"kind": "Another"}` + "\n",
		"m/e.txt":       "{{ no manifest",
		"m/f.yaml":      "---\n" + app + "f}\n...\n",
		"m/g.yaml":      "kind: Third\n# end of g\n",
		"m/h.yaml":      "%YAML 1.1\n---\nkind: Fourth\n",
		"m/deep/z.yaml": app + "z}\n",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rest := "---\n" + up + "f}\n...\nkind: Third\n# end of g\n...\n%YAML 1.1\n---\nkind: Fourth\n"
	flat := up + "a}\n---\n# of b\n" + up + "b}\n---\n{\"kind\": \"Other\"}\n{\"kind\": \"Another\"}\n"
	cases := map[string]struct {
		args []string
		want string
	}{
		"one folder":           {[]string{"-f", "m"}, flat + rest},
		"and those below":      {[]string{"-f", "m", "-R"}, flat + "---\n" + up + "z}\n" + rest},
		"files in their order": {[]string{"-f", "m/d.json,m/a.yaml", "-f", "m/c.json"}, "{\"kind\": \"Another\"}\n---\n" + up + "a}\n---\n{\"kind\": \"Other\"}"},
		"only JSON":            {[]string{"-f", "m/a.yaml", "-f", "m/c.json", "-o", "json"}, "{\n    \"apiVersion\": \"app.example.com/v1\",\n    \"kind\": \"WebApp\",\n    \"metadata\": {\n        \"name\": \"a\"\n    }\n}\n{\"kind\": \"Other\"}\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runWith("", append([]string{"convert", "--to", "app.example.com/v1"}, c.args...)...)
			if diff := cmp.Diff(outcome{stdout: c.want}, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLayout: a converted document is laid out as the source was.
func TestLayout(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"carriage returns": {
			"# c\r\napiVersion: app.example.com/v1alpha1\r\nkind: WebApp\r\nmetadata: {name: a} # d\r\nspec:\r\n  scale:\r\n    instances: 2 # e\r\n",
			"# c\r\napiVersion: app.example.com/v1\r\nkind: WebApp\r\nmetadata: {name: a} # d\r\nspec:\r\n  replicas: 2 # e\r\n",
		},
		"indented lists": {
			"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata:\n   finalizers:\n      - a\n",
			"apiVersion: app.example.com/v1\nkind: WebApp\nmetadata:\n   finalizers:\n      - a\n",
		},
		"after the marker": {
			"--- {apiVersion: app.example.com/v1alpha1, kind: WebApp, metadata: {}}\n",
			"---\n{apiVersion: app.example.com/v1, kind: WebApp, metadata: {}}\n",
		},
		"a mark before it": {
			"\ufeffapiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {}\n",
			"\ufeffapiVersion: app.example.com/v1\nkind: WebApp\nmetadata: {}\n",
		},
		"no end of line": {
			"apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {}",
			"apiVersion: app.example.com/v1\nkind: WebApp\nmetadata: {}\n",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, converted(t, c.in, "--to", "app.example.com/v1")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnreadableKeyOfOurs: an object of ours is never taken for a foreign one because of something in it.
func TestUnreadableKeyOfOurs(t *testing.T) {
	got := runWith("kind: WebApp\napiVersion: app.example.com/v1alpha1\n[a]: b\n", "convert", "-f", "-", "--to", "app.example.com/v1")
	want := outcome{code: exitFailure, stderr: "Error: stdin: document 1: line 3: a key that is not a single value\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestRepeatedMembers: JSON that names a member twice is read as everywhere, the last one counts, and stderr says so.
func TestRepeatedMembers(t *testing.T) {
	in := `{"kind":"X","kind":"WebApp","apiVersion":"app.example.com/v1alpha1","metadata":{},"spec":{"scale":{"instances":1,"instances":2}}}`
	want := outcome{
		stdout: `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{},"spec":{"replicas":2}}`,
		stderr: "Warning: stdin: document 1: WebApp: duplicate field \"kind\"; the last one counts\n" +
			"Warning: stdin: document 1: WebApp: duplicate field \"spec.scale.instances\"; the last one counts\n",
	}
	if diff := cmp.Diff(want, runWith(in, "convert", "-f", "-", "--to", "app.example.com/v1"), cmp.AllowUnexported(outcome{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk: what cannot be written is neither good nor bad.
func TestFullDisk(t *testing.T) {
	for _, args := range [][]string{{"convert", "-f", "-", "--to", bothDown}, {"convert", "-f", "-", "--to", bothDown, "--check"}, {"validate", "-f", "-"}, {"explain-rules"}} {
		var stderr strings.Builder
		code := execute(append([]string{"workloadctl"}, args...), strings.NewReader(typo+"replica: 3}}"), fullDisk{}, &stderr)
		if code != exitUsage || !strings.HasSuffix(stderr.String(), "Error: writing the output: no space left\n") {
			t.Errorf("%v: exit code %d, %s", args, code, &stderr)
		}
	}
}

// manifestVerbs read manifests. diff reads them before it looks for a cluster.
var manifestVerbs = map[string][]string{
	"convert": {"convert", "--to", bothUp}, "convert --check": {"convert", "--check", "--to", bothUp}, "validate": {"validate"}, "diff": {"diff", "--kubeconfig", "none"},
}

// TestNoManifests: what is not there, cannot be read or has no objects is no finding, whatever the verb.
func TestNoManifests(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, content := range map[string]string{
		"empty.yaml": "", "comments.yaml": "# nothing\n---\n# here\n", "null.yaml": "---\n~\n---\nnull\n", "utf16.yaml": "\xff\xfek\x00", "folder/notes.txt": "a: b",
		"folders/none.yaml/empty": "", "blank/a.yaml": "\n", "blank/b.json": " ",
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		"gone.yaml": "gone.yaml: no such file or directory", "folder": "folder: no file in this directory ends in .json, .yaml or .yml",
		"folders": "folders: no file in this directory ends in .json, .yaml or .yml", "-": "no objects in stdin", "empty.yaml": "no objects in empty.yaml",
		"comments.yaml": "no objects in comments.yaml", "null.yaml": "no objects in null.yaml", "utf16.yaml": "utf16.yaml: is UTF-16; save it as UTF-8",
		"blank": "no objects in blank", "empty.yaml,-": "no objects in empty.yaml, stdin", "": "say",
	} {
		for verb, args := range manifestVerbs {
			got := runWith("# nothing\n", append(args, "-f", file)...)
			if got.code != exitUsage || got.stdout != "" || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, want) {
				t.Errorf("%s of %q: got %+v, want %s", verb, file, got, want)
			}
		}
	}
	if got := runWith(newerManifest, "validate", "-f", "empty.yaml", "-f", "-"); got.code != exitOK || got.stderr != "Warning: empty.yaml: no objects in it\n" {
		t.Errorf("one of two is empty: got %+v", got)
	}
	for name, list := range map[string]string{"of ours": "app.example.com/v1, kind: WebAppList", "of any": "v1, kind: List"} {
		if got := runWith("{apiVersion: "+list+", items: []}", "validate", "-f", "-"); got.code != exitOK {
			t.Errorf("an empty list %s is what a cluster without objects answers: got %+v", name, got)
		}
	}
}
