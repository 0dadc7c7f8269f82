package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// typed are the words of a command as a shell reads them, as far as examples need it.
var typed = regexp.MustCompile(`"[^"]*"|[^\s"]+`)

// calls are the calls of this binary in the example of a command, in pipes and lists, too.
func calls(cmd *cobra.Command) (found [][]string) {
	for line := range strings.Lines(cmd.Example) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == '|' || r == '&' }) {
			words := typed.FindAllString(part, -1)
			for i, word := range words {
				words[i] = strings.Trim(word, `"`)
			}
			if len(words) > 0 && words[0] == "workloadctl" {
				found = append(found, words[1:])
			}
		}
	}
	return found
}

// works says whether a command works on a cluster.
func works(cmd *cobra.Command, words []string) bool {
	if cmd.Name() == "crds" && !strings.Contains(strings.Join(words, " "), "--apply") {
		return false
	}
	return cmd.Flags().Lookup("kubeconfig") != nil
}

// mistakeIn runs an example where there is no cluster, and says what is wrong with it, empty if it is right.
func mistakeIn(words []string) string {
	cmd, _, err := newRootCommand("workloadctl").Find(words)
	if err != nil {
		return err.Error()
	}
	got := runWith(exampleManifest, words...)
	switch {
	case strings.Contains(got.stderr, "(see workloadctl"):
		return got.stderr
	case works(cmd, words) && (got.code != exitUsage || got.stdout != "" || !strings.Contains(got.stderr, "there is no kubeconfig /nowhere")):
		return "a cluster was found: " + got.stdout + got.stderr
	case !works(cmd, words) && (got.code != exitOK || got.stderr != ""):
		return "it failed: " + got.stderr
	}
	return ""
}

const exampleManifest = "apiVersion: app.example.com/v1alpha1\nkind: WebApp\nmetadata: {name: web, namespace: shop}\nspec: {image: {repository: web}}\n"

// inExampleFolder changes to a folder with the files that examples name, where there is no cluster.
func inExampleFolder(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, file := range []string{"webapp.yaml", "manifests/deep/webapp.yaml", "manifests/stored.yaml"} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(exampleManifest), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

// TestExamplesRun: every command has an example of its own, and every example is right: those for a cluster fail for want of one, and for
// nothing else.
func TestExamplesRun(t *testing.T) {
	inExampleFolder(t)
	ran := 0
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		own := 0
		for _, words := range calls(cmd) {
			ran++
			if wrong := mistakeIn(words); wrong != "" {
				t.Errorf("workloadctl %s: %s", strings.Join(words, " "), wrong)
			}
			if strings.HasPrefix("workloadctl "+strings.Join(words, " ")+" ", cmd.CommandPath()+" ") {
				own++
			}
		}
		if own == 0 && cmd.HasParent() {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand("workloadctl"))
	if ran < 40 {
		t.Errorf("ran %d examples", ran)
	}
}

// TestExampleMistakes: an example with a mistake is found.
func TestExampleMistakes(t *testing.T) {
	inExampleFolder(t)
	for _, line := range []string{
		"check --pre --step R9 -o xml nonsense", "check nonsense", "check -o xml", "status pod/x", "migrate run pod", "migrate rollback --to v2", "rollout status",
		"crds --step R9", "diff -f absent.yaml", "version --output xml", "konvert",
	} {
		if mistakeIn(strings.Fields(line)) == "" {
			t.Errorf("nothing is wrong with %s", line)
		}
	}
}
