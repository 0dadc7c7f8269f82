package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestCompletionScripts: each shell gets a script, that of bash is one that bash reads, and what it asks for has the verbs.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := runWith("", "completion", shell)
		if got.code != exitOK || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("%s: exit code %d, %d bytes", shell, got.code, len(got.stdout))
		}
		if shell != "bash" {
			continue
		}
		command := exec.CommandContext(t.Context(), "bash", "-n")
		command.Stdin = strings.NewReader(got.stdout)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("bash: %v: %s", err, out)
		}
	}
	offered := runWith("", "__complete", "").stdout
	for _, verb := range verbs(t) {
		if !strings.Contains(verb, " ") && verb != "help" && !strings.Contains(offered, verb+"\t") {
			t.Errorf("%s is not offered:\n%s", verb, offered)
		}
	}
	for flag, want := range map[string]string{"check -o": "json", "check --step": "R5", "diff --in": "v1alpha1", "status -o": "json", "rollout history -o": "json"} {
		if got := runWith("", append(append([]string{"__complete"}, strings.Fields(flag)...), "")...).stdout; !strings.Contains(got, want+"\n") {
			t.Errorf("%s: %q", flag, got)
		}
	}
}

// offers are what the shell gets for words, without descriptions; the last line is the directive.
func offers(t *testing.T, words ...string) string {
	t.Helper()
	got := runWith("", append([]string{"__completeNoDesc"}, words...)...)
	if got.code != exitOK {
		t.Errorf("%q: exit code %d, %s", words, got.code, got.stderr)
	}
	return got.stdout
}

const (
	noFiles = ":4\n"
	files   = ":0\n"
	noSpace = ":6\n"
)

// wholeTree calls visit for each command that can be typed, also those that cobra adds, with the words for it.
func wholeTree(t *testing.T, visit func(cmd *cobra.Command, words []string)) {
	t.Helper()
	root := newRootCommand("workloadctl")
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var walk func(*cobra.Command, []string)
	walk = func(cmd *cobra.Command, words []string) {
		cmd.InitDefaultHelpFlag()
		visit(cmd, words)
		for _, sub := range cmd.Commands() {
			walk(sub, append(slices.Clone(words), sub.Name()))
		}
	}
	walk(root, nil)
}

// TestCompletionOffersNoFiles: the shell offers names of files for the flags that take files, and nowhere else.
func TestCompletionOffersNoFiles(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	seen := map[string]bool{}
	wholeTree(t, func(cmd *cobra.Command, words []string) {
		for _, typed := range []string{"", "x", "webapp/"} {
			if got := offers(t, append(slices.Clone(words), typed)...); strings.HasSuffix(got, files) {
				t.Errorf("%q %q offers files", words, typed)
			}
		}
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if flag.NoOptDefVal != "" {
				return // what comes next is no value of it
			}
			got := offers(t, append(slices.Clone(words), "--"+flag.Name, "")...)
			takes := slices.Contains(fileFlags, flag.Name)
			if strings.HasSuffix(got, files) != takes || takes && got != files {
				t.Errorf("%q --%s takes files: %t, but offers %q", words, flag.Name, takes, got)
			}
			seen[flag.Name] = seen[flag.Name] || takes
		})
	})
	for _, flag := range fileFlags {
		if !seen[flag] {
			t.Errorf("no command has --%s", flag)
		}
	}
}

func TestCompletionOffers(t *testing.T) {
	t.Setenv("KUBECONFIG", kubeconfigFor(t, "https://127.0.0.1:1", ""))
	for words, want := range map[string]string{
		"status ":                     "webapp/\npodset/\n" + noSpace,
		"status po":                   "podset/\n" + noSpace,
		"status webapp/":              noFiles,
		"status webapp ":              noFiles,
		"rollout restart ":            "webapp/\npodset/\n" + noSpace,
		"migrate run ":                "webapp\npodset\n" + noFiles,
		"migrate verify webapps ":     "podset\n" + noFiles,
		"migrate plan webapp podset ": noFiles,
		"migrate plan nonsense ":      noFiles,
		"migrate rollback --to ":      "v1\nv1alpha1\n" + noFiles,
		"status --context ":           "c\n" + noFiles,
		"check --cluster ":            "c\n" + noFiles,
		"uninstall --user ":           "u\n" + noFiles,
		"crds --user x":               noFiles,
		"check --context= ":           noFiles,
		"status -n ":                  noFiles, // nobody answers
		"uninstall ":                  noFiles,
		"version ":                    noFiles,
		"version -o ":                 "yaml\njson\n" + noFiles,
		"diff -f ":                    files,
		"validate --stored ":          files,
		"migrate status --kubeconfig": "--kubeconfig\n" + noFiles,
		"status --kubeconfig ":        files,
	} {
		if diff := cmp.Diff(want, offers(t, strings.Split(words, " ")...)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	}
}

// TestCompletionOfNamespaces: a cluster that answers at once is asked, and nobody waits for one that does not.
func TestCompletionOfNamespaces(t *testing.T) {
	slow := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer slow" {
			<-slow
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NamespaceList","apiVersion":"v1","items":[` +
			`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default"}},{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"shop"}}]}`))
	}))
	defer server.Close()
	defer close(slow)
	file := kubeconfigFor(t, server.URL, ", insecure-skip-tls-verify: true")
	for typed, want := range map[string]string{"": "default\nshop\n" + noFiles, "s": "shop\n" + noFiles, "x": noFiles} {
		if got := offers(t, "status", "--kubeconfig", file, "-n", typed); got != want {
			t.Errorf("%q: got %q", typed, got)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, bytes.Replace(text, []byte("token: t"), []byte("token: slow"), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if got := offers(t, "status", "--kubeconfig", file, "-n", ""); got != noFiles || time.Since(begin) > 5*completionPatience {
		t.Errorf("got %q after %s", got, time.Since(begin))
	}
}

// TestCompletionOfPlugin: kubectl asks an executable of this name what comes next, by the words alone.
func TestCompletionOfPlugin(t *testing.T) {
	for words, want := range map[string]string{
		"rollout status p":       "podset/\n" + noSpace,
		"migrate rollback --to ": "v1\nv1alpha1\n" + noFiles,
		"diff -f ":               files,
	} {
		var stdout, stderr bytes.Buffer
		code := execute(append([]string{"/usr/local/bin/" + completerName}, strings.Split(words, " ")...), nil, &stdout, &stderr)
		if code != exitOK || stdout.String() != want {
			t.Errorf("%q: exit code %d, %q, %s", words, code, &stdout, &stderr)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := execute([]string{completerName + ".exe"}, nil, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "\nmigrate\t") {
		t.Errorf("exit code %d: %s%s", code, &stdout, &stderr)
	}
}
