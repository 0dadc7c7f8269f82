package documents

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/example/workload-operator/test/pages"

	// What workloadctl is made of besides its own files: go test then knows when an old result no longer counts.
	_ "github.com/example/workload-operator/config/guard"
	_ "github.com/example/workload-operator/controllers/migration"
	_ "github.com/example/workload-operator/conversion"
	_ "github.com/example/workload-operator/webhooks"
)

var update = flag.Bool("update", false, "write what offline commands print into the pages")

// offline are the commands that need no cluster, so that this test can run them. crds is one unless it applies.
var offline = regexp.MustCompile(`^(bin/)?workloadctl (convert|validate|explain-rules|crds) |^go tool -modfile=tools/kubeconform/go\.mod kubeconform `)

// tool is workloadctl, built anew.
type tool struct {
	folder string
	mutex  sync.Mutex
	helps  map[string]string
}

func buildTool(t *testing.T) *tool {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, "cmd", "workloadctl"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".go" {
			read(t, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", folder, "./cmd/workloadctl")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building workloadctl: %v\n%s", err, out)
	}
	return &tool{folder: folder, helps: map[string]string{}}
}

// help is what workloadctl VERB --help prints.
func (c *tool) help(verb string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, ok := c.helps[verb]; !ok {
		// A verb that does not exist prints no help, which problem reports.
		out, _ := exec.Command(filepath.Join(c.folder, "workloadctl"), append(strings.Fields(verb), "--help")...).Output()
		c.helps[verb] = string(out)
	}
	return c.helps[verb]
}

// problem says what is wrong with the arguments of workloadctl, or nothing: a verb or a flag that does not exist.
func (c *tool) problem(arguments []string) string {
	verb := ""
	for i, argument := range arguments {
		argument = strings.Trim(argument, `"',.;:)`)
		switch {
		case argument == "" || argument == "-" || argument == "..":
		case strings.HasPrefix(argument, "-"):
			name, _, _ := strings.Cut(argument, "=")
			if !regexp.MustCompile(`(?m)(^|[ ,])` + regexp.QuoteMeta(name) + `([ ,=]|$)`).MatchString(flagsOf(c.help(verb))) {
				return fmt.Sprintf("workloadctl %s has no flag %s", verb, name)
			}
		case strings.Contains(c.help(verb), "Available Commands:") && strings.TrimSpace(verb) == strings.Join(arguments[:i], " "):
			if !regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(argument)+` `).MatchString(c.help(verb)) && argument != "VERB" {
				return fmt.Sprintf("workloadctl %s has no command %s", verb, argument)
			}
			verb = strings.TrimSpace(verb + " " + argument)
		}
	}
	return ""
}

// flagsOf is the part of a help text that lists flags.
func flagsOf(help string) string {
	_, flags, _ := strings.Cut(help, "Flags:\n")
	return flags
}

// calls are the arguments of each call of workloadctl in a line of shell.
func calls(line string) (all [][]string) {
	for _, part := range regexp.MustCompile(`[|;&]+|\$\(|\)|<|>`).Split(line, -1) {
		words := strings.Fields(part)
		if len(words) > 0 && slices.Contains([]string{"workloadctl", "bin/workloadctl"}, words[0]) {
			all = append(all, words[1:])
		}
		if len(words) > 1 && words[0] == "kubectl" && words[1] == "workload" { // the same binary as a plugin
			all = append(all, words[2:])
		}
	}
	return all
}

// Every call of workloadctl that a page shows names a command and flags that exist.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := buildTool(t)
	count := 0
	for _, p := range pages.All(t) {
		for _, line := range code(p) {
			for _, arguments := range calls(line) {
				count++
				if problem := c.problem(arguments); problem != "" {
					t.Errorf("%s: %s\n%s", p.Path, problem, line)
				}
			}
		}
	}
	if count < 20 {
		t.Errorf("found only %d calls of workloadctl in the pages", count)
	}
	for _, wrong := range []string{"workloadctl invent", "workloadctl migrate fly", "cat x | workloadctl convert --form y", "workloadctl -x", "kubectl workload convert -q"} {
		if problem := c.problem(calls(wrong)[0]); problem == "" {
			t.Errorf("nothing found wrong with %q", wrong)
		}
	}
	t.Run("Output", func(t *testing.T) { c.testOutput(t) })
}

// testOutput runs the offline commands whose output a page shows whole, and compares. A block with an ellipsis is an excerpt: its
// commands have to succeed, and to begin with what it shows. So have those of a block that shows nothing, or has others among them.
func (c *tool) testOutput(t *testing.T) {
	count := 0
	for _, p := range pages.All(t) {
		written := p.Rewrite(func(block pages.Block) string {
			commands := block.Commands()
			ours := slices.DeleteFunc(slices.Clone(commands), func(command pages.Command) bool { return !runnable(command.Line) })
			count += len(ours)
			excerpt := slices.ContainsFunc(ours, func(command pages.Command) bool { return command.Excerpt })
			if block.Language == "console" && !excerpt && len(ours) > 0 && len(ours) == len(commands) {
				return c.run(t, ours)
			}
			for _, command := range ours {
				printed, err := c.output(t, command.Line)
				if err != nil || !strings.HasPrefix(printed, strings.TrimSpace(command.Printed)) {
					t.Errorf("%s: %s: %v\n%s", p.Path, command.Line, err, printed)
				}
			}
			return block.Text
		})
		if written == p.Text {
			continue
		}
		if *update {
			if err := os.WriteFile(filepath.Join(root, p.Path), []byte(written), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Errorf("%s and what its commands print differ; if they should, run this test with -args -update (-page +printed):\n%s",
			p.Path, cmp.Diff(p.Text, written))
	}
	if count == 0 {
		t.Error("no command was run")
	}
}

// runnable says whether a command is one that this test runs: it needs no cluster.
func runnable(command string) bool {
	for part := range strings.SplitSeq(command, "|") {
		part = strings.TrimSpace(part)
		if !offline.MatchString(part) && !regexp.MustCompile(`^(grep|head|tail|cut|sort|wc) `).MatchString(part) || strings.Contains(part, "--apply") {
			return false
		}
	}
	return true
}

// run runs the commands of a block and returns the block that shows it. A refusal may be what the page is about.
func (c *tool) run(t *testing.T, commands []pages.Command) string {
	var out strings.Builder
	for _, command := range commands {
		printed, err := c.output(t, command.Line)
		if err != nil && strings.TrimSpace(printed) == "" {
			t.Errorf("%s: %v", command.Line, err)
		}
		out.WriteString("$ " + command.Line + "\n" + printed)
	}
	return out.String()
}

// output is what a command prints, also to standard error, from the root of the repository.
func (c *tool) output(t *testing.T, line string) (string, error) {
	shell := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(line, "bin/workloadctl", "workloadctl"))
	shell.Dir = root
	shell.Env = append(os.Environ(), "PATH="+c.folder+":"+os.Getenv("PATH"))
	printed, err := shell.CombinedOutput()
	return string(printed), err
}
