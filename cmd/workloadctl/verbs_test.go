package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// verbs are the commands that help lists, as they are typed.
func verbs(t *testing.T) []string {
	t.Helper()
	var all []string
	var visit func(*cobra.Command, string)
	visit = func(cmd *cobra.Command, path string) {
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				all = append(all, strings.TrimSpace(path+" "+sub.Name()))
				visit(sub, path+" "+sub.Name())
			}
		}
	}
	visit(newRootCommand("workloadctl"), "")
	return all
}

// TestHelp: every verb has help that says what it does and with which codes it ends, and by its other name nothing of the first.
func TestHelp(t *testing.T) {
	for _, verb := range verbs(t) {
		got := runWith("", append(strings.Fields(verb), "--help")...)
		if got.code != exitOK || got.stderr != "" || !strings.Contains(got.stdout, "Usage:") {
			t.Errorf("%s: got %+v", verb, got)
		}
	}
}

// TestExamplesParse: every command of every example is one that the command line understands.
func TestExamplesParse(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == '|' || r == '&' }) {
				words := strings.Fields(part)
				if len(words) == 0 || words[0] != "workloadctl" {
					continue
				}
				root := newRootCommand("workloadctl")
				found, rest, err := root.Find(words[1:])
				if err == nil {
					err = found.ParseFlags(rest)
				}
				if err != nil {
					t.Errorf("%s: %v", strings.TrimSpace(line), err)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand("workloadctl"))
}

// TestVerbsInDocuments: every verb is in a page.
func TestVerbsInDocuments(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, page := range append(pages, "../../README.md") {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	for _, verb := range verbs(t) {
		if slices.Contains([]string{"completion", "help", "version"}, strings.Fields(verb)[0]) {
			continue // the same in every command of this kind
		}
		if !strings.Contains(text.String(), "workloadctl "+verb) {
			t.Errorf("no page mentions workloadctl %s", verb)
		}
	}
}

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

// clusterVerbs work on a cluster.
var clusterVerbs = [][]string{
	{"check"}, {"check", "--pre"}, {"diff", "-f", "testdata/check-nothing/input.yaml"}, {"status"}, {"status", "webapp/x"},
	{"rollout", "status", "webapp/x"}, {"rollout", "restart", "webapp/x"}, {"rollout", "history", "ps/x"},
	{"migrate", "status"}, {"migrate", "plan"}, {"migrate", "run"}, {"migrate", "verify"}, {"migrate", "rollback"}, {"uninstall", "--yes"},
	{"crds", "--step", "R3", "--apply"},
}

// TestNoCluster: who could not look says 2, and nothing on stdout.
func TestNoCluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range clusterVerbs {
		for _, cluster := range [][]string{{"--kubeconfig", file}, {"--kubeconfig", file + ".gone"}, {"--kubeconfig", file, "--context=other"}} {
			got := runWith("", append(args, cluster...)...)
			if got.code != exitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, "Error: ") {
				t.Errorf("%v %v: got %+v", args, cluster, got)
			}
		}
	}
}

// TestClusterFlags: they are those of kubectl wherever a cluster is used.
func TestClusterFlags(t *testing.T) {
	for _, args := range clusterVerbs {
		cmd, _, err := newRootCommand("workloadctl").Find(args)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"kubeconfig", "context", "cluster", "user"} {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", cmd.CommandPath(), flag)
			}
		}
	}
}

func TestVerbUsage(t *testing.T) {
	for want, args := range map[string][]string{
		`Error: -o "xml": use table or json (see workloadctl check --help)`:                             {"check", "-o", "xml"},
		`Error: --step: no step "R9": use one of R1, R2, R3, R4, R5 (see workloadctl check --help)`:     {"check", "--pre", "--step", "R9"},
		"Error: say with -f what to compare (see workloadctl diff --help)":                              {"diff"},
		`Error: --in "v2": use v1 or v1alpha1 (see workloadctl diff --help)`:                            {"diff", "-f", "-", "--in", "v2"},
		"Error: --force-conflicts needs --server-side (see workloadctl diff --help)":                    {"diff", "-f", "-", "--force-conflicts"},
		`Error: "pod/x" is no KIND/NAME such as webapp/my-app (see workloadctl status --help)`:          {"status", "pod/x"},
		"Error: say with KIND/NAME which object, such as webapp/my-app (see workloadctl rollout status": {"rollout", "status", "x"},
		`Error: -o "xml": use table or json (see workloadctl rollout history --help)`:                   {"rollout", "history", "wa/x", "-o", "xml"},
		`Error: unknown command "fly" (see workloadctl rollout --help)`:                                 {"rollout", "fly"},
	} {
		if got := runWith("", args...); got.code != exitUsage || got.stdout != "" || !strings.HasPrefix(got.stderr, want) {
			t.Errorf("%v: got %+v, want %s", args, got, want)
		}
	}
}

// TestColour: colours are for terminals.
func TestColour(t *testing.T) {
	if got := painterFor(&bytes.Buffer{})(red, "x"); got != "x" {
		t.Errorf("a file gets %q", got)
	}
	nothing, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a character device, too
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	if got := painterFor(nothing)(red, "x"); got != "x" {
		t.Errorf("%s gets %q", os.DevNull, got)
	}
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0) // a new one
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	if got := painterFor(terminal)(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("a terminal gets %q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := painterFor(terminal)(red, "x"); got != "x" {
		t.Errorf("with NO_COLOR a terminal gets %q", got)
	}
}

// TestConnectionIsPrinted: commands that are printed work on the same cluster.
func TestConnectionIsPrinted(t *testing.T) {
	o := clusterOptions{kubeconfig: "k", context: "c", user: "u"}
	if got := strings.Join(o.given(), " "); got != "--kubeconfig=k --context=c --user=u" {
		t.Errorf("got %s", got)
	}
}
