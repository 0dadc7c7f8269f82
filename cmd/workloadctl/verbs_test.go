package main

import (
	"bytes"
	"os"
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
		`Error: unknown kind "webap": use webapp or podset (see workloadctl status --help)`:             {"status", "webap/x"},
		`Error: unknown kind "pod": use webapp or podset (see workloadctl rollout status --help)`:       {"rollout", "status", "pod", "x"},
		`Error: "/x" is no KIND/NAME such as webapp/my-app (see workloadctl status --help)`:             {"status", "/x"},
		`Error: "webapp/" is no KIND/NAME such as webapp/my-app (see workloadctl status --help)`:        {"status", "webapp", ""},
		"Error: the name is empty (see workloadctl status --help)":                                      {"status", ""},
		"Error: the name is empty (see workloadctl rollout restart --help)":                             {"rollout", "restart", ""},
		`Error: --to "v2": use v1 or v1alpha1 (see workloadctl migrate rollback --help)`:                {"migrate", "rollback", "--to", "v2", "--kubeconfig=/nowhere"},
		"Error: -o says how to print definitions, which --apply does not (see workloadctl crds --help)": {"crds", "--step", "R3", "--apply", "-o", "json", "--kubeconfig=/nowhere"},
		`Error: -o "xml": use yaml or json (see workloadctl version --help)`:                            {"version", "-o", "xml"},
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
	t.Setenv("TERM", "xterm")
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
	for name, value := range map[string]string{"NO_COLOR": "1", "TERM": "dumb"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if got := painterFor(terminal)(red, "x"); got != "x" {
				t.Errorf("the terminal gets %q", got)
			}
			if d := newDisplay(terminal, formatTable); d.json || d.terminal != (name != "TERM") {
				t.Errorf("progress is %+v", d)
			}
		})
	}
}

// TestConnectionIsPrinted: commands that are printed work on the same cluster.
func TestConnectionIsPrinted(t *testing.T) {
	o := clusterOptions{kubeconfig: "k", context: "c", user: "u"}
	if got := strings.Join(o.given(), " "); got != "--kubeconfig=k --context=c --user=u" {
		t.Errorf("got %s", got)
	}
}
