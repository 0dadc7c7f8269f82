package documents

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/workload-operator/test/pages"
)

// taking matches where a test takes a part of a page to type its commands.
var taking = regexp.MustCompile(`pages\.Part\([\w.]+, "([^"]+)", "([^"]*)"\)`)

var comments = regexp.MustCompile(`(?m)^\s*//.*$`)

// promise is made by a test that takes a part of a page.
type promise struct{ by, heading string }

// keeps says whether the promise is about a part that holds the command. What installs a release is typed by test/helm alone.
func (p promise) keeps(part pages.Page, command pages.Command) bool {
	return p.heading == part.Heading && (!releases.MatchString(command.Line) || strings.HasPrefix(p.by, "test/helm/"))
}

var releases = regexp.MustCompile(`^(helm|make) `)

// Every command that a page tells the reader to type is typed by a test: by this package if it needs no cluster, and else by a test that
// takes the part of the page that the command stands in.
func TestEveryCommandIsTyped(t *testing.T) {
	t.Parallel()
	promises := map[string][]promise{}
	for path, source := range testSources(t) {
		for _, found := range taking.FindAllStringSubmatch(comments.ReplaceAllString(source, ""), -1) {
			promises[found[1]] = append(promises[found[1]], promise{by: filepath.ToSlash(path), heading: found[2]})
		}
	}
	count := 0
	for _, page := range pages.All(t) {
		count += len(page.Typed())
		for _, line := range forgotten(page, promises[page.Path]) {
			t.Errorf("%s: no test types: %s", page.Path, line)
		}
		delete(promises, page.Path)
	}
	for path := range promises {
		t.Errorf("a test takes %s, which is not there", path)
	}
	if count < 100 {
		t.Errorf("only %d commands found", count)
	}
}

// Every fenced block says what it is, so that no command hides in one that nobody reads: what is typed is sh or console.
func TestBlocksSayWhatTheyAre(t *testing.T) {
	t.Parallel()
	for _, page := range pages.All(t) {
		for _, problem := range oddBlocks(page) {
			t.Errorf("%s: %s", page.Path, problem)
		}
	}
	wrong := pages.Page{Text: "```bash\nx\n```\n```\nx\n```\n```text\n$ x\n```\n```yaml\na: b\n```\n~~~\nx\n~~~\n```sh\nx\n```\n"}
	if got := oddBlocks(wrong); len(got) != 4 {
		t.Errorf("want 4 problems, got %q", got)
	}
}

func oddBlocks(page pages.Page) (problems []string) {
	page.Rewrite(func(block pages.Block) string {
		switch {
		case !slices.Contains([]string{"sh", "console", "text", "yaml", "json"}, block.Language):
			problems = append(problems, fmt.Sprintf("a block of the language %q", block.Language))
		case block.Language != "console" && strings.Contains("\n"+block.Text, "\n$ "):
			problems = append(problems, "what is typed is in a block of the language "+block.Language)
		}
		return block.Text
	})
	if strings.Contains(page.Text, "~~~") {
		problems = append(problems, "a block in tildes")
	}
	return problems
}

// forgotten are the commands of a page that need a cluster and that no promise is about.
func forgotten(page pages.Page, promises []promise) (lines []string) {
	typed := map[string]bool{}
	for _, part := range append(page.Parts(), page) {
		for _, command := range part.Typed() {
			typed[command.Line] = typed[command.Line] || slices.ContainsFunc(promises, func(p promise) bool { return p.keeps(part, command) })
		}
	}
	for _, command := range page.Typed() {
		if !typed[command.Line] && !runnable(command.Line) {
			lines = append(lines, command.Line)
		}
	}
	return lines
}

func TestForgotten(t *testing.T) {
	t.Parallel()
	page := pages.Page{Text: "# One\n```sh\nkubectl a\nmake test\nworkloadctl validate -f x\nhelm c\n```\n## Two\n```sh\nkubectl b\n```\n"}
	for promised, want := range map[promise]string{
		{"test/e2e/x", "One"}: "helm c", {"test/helm/x", "One"}: "", {"test/helm/x", "Two"}: "kubectl a,helm c",
		{"test/e2e/x", ""}: "helm c", {"test/e2e/x", "Three"}: "kubectl a,helm c,kubectl b",
	} {
		if got := strings.Join(forgotten(page, []promise{promised}), ","); got != want {
			t.Errorf("with %v: %q, want %q", promised, got, want)
		}
	}
}

var (
	goTest     = regexp.MustCompile(`go test .*`)
	testFlag   = regexp.MustCompile(`\bflag\.\w+\((?:&\w+, )?"([^"]+)"`)
	ownOfGo    = []string{"run", "bench", "v", "timeout", "fuzz", "fuzztime", "args", "count", "update"}
	slashes    = regexp.MustCompile(`/.*`)
	enclosures = strings.NewReplacer("'", "", `"`, "")
)

// A call of go test names a package, tests of it, and flags that it has.
func TestGoTestCalls(t *testing.T) {
	t.Parallel()
	count := 0
	for _, p := range pages.All(t) {
		for _, line := range code(p) {
			if call := goTest.FindString(line); call != "" && strings.Contains(call, " ./") {
				count++
				if problem := wrongCall(t, call); problem != "" {
					t.Errorf("%s: %s\n%s", p.Path, problem, line)
				}
			}
		}
	}
	if count < 15 {
		t.Errorf("only %d calls found", count)
	}
	for _, wrong := range []string{"go test ./test/nowhere", "go test -run TestNothing ./test/pages", "go test ./test/pages -args -size 3"} {
		if wrongCall(t, wrong) == "" {
			t.Errorf("nothing found wrong with %q", wrong)
		}
	}
}

func wrongCall(t *testing.T, call string) string {
	t.Helper()
	words := strings.Fields(enclosures.Replace(call))
	var sources string
	for i, word := range words {
		if !strings.HasPrefix(word, "./") || words[i-1] == "-f" {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(word, "/..."), "*.go"))
		if err != nil || len(files) == 0 && !strings.HasSuffix(word, "...") {
			return fmt.Sprintf("no package %s (%v)", word, err)
		}
		for _, file := range files {
			sources += string(read(t, file))
		}
	}
	for i, word := range words {
		name, isFlag := strings.CutPrefix(word, "-")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case isFlag && !slices.Contains(ownOfGo, name) && !slices.Contains(flagsIn(sources), name):
			return "no flag -" + name
		case isFlag && i+1 < len(words) && slices.Contains([]string{"run", "fuzz"}, name):
			pattern, err := regexp.Compile(slashes.ReplaceAllString(words[i+1], ""))
			if err != nil || !slices.ContainsFunc(testFunc.FindAllStringSubmatch(sources, -1), func(found []string) bool { return pattern.MatchString(found[1]) }) && words[i+1] != "^$" {
				return fmt.Sprintf("no test %s (%v)", words[i+1], err)
			}
		}
	}
	return ""
}

func flagsIn(sources string) (names []string) {
	for _, found := range testFlag.FindAllStringSubmatch(sources, -1) {
		names = append(names, found[1])
	}
	return names
}
