package documents

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/workload-operator/test/pages"
)

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	elsewhere  = regexp.MustCompile(`^[a-z]+:`)
	makeTarget = regexp.MustCompile(`^(?:sudo )?make ([a-z][a-z-]*)`)
	goPackage  = regexp.MustCompile(`^(?:[A-Z0-9_]+=\S+ )*go (?:test|run|vet|build) .*?(\./[A-Za-z0-9_/.-]+)`)
	testName   = regexp.MustCompile(`^(?:Test|Fuzz|Benchmark)[A-Z]\w+$`)
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	repository = regexp.MustCompile(`^(apis|charts|cmd|config|controllers|conversion|docs|test|tools|webhooks)/[A-Za-z0-9_/.-]+$`)
)

// Relative links lead to a file that is there, and to a heading that is in it.
func TestLinks(t *testing.T) {
	anchors := map[string]map[string]bool{}
	for _, p := range pages.All(t) {
		anchors[p.Path] = anchorsOf(p)
	}
	for _, p := range pages.All(t) {
		for _, problem := range brokenLinks(p, anchors) {
			t.Error(problem)
		}
	}
}

func brokenLinks(p pages.Page, anchors map[string]map[string]bool) (problems []string) {
	for _, found := range link.FindAllStringSubmatch(inline.ReplaceAllString(p.Prose(), ""), -1) {
		target, anchor, hasAnchor := strings.Cut(found[1], "#")
		if elsewhere.MatchString(found[1]) {
			continue
		}
		path := p.Path
		if target != "" {
			path = filepath.Join(filepath.Dir(p.Path), target)
		}
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			problems = append(problems, fmt.Sprintf("%s links to %s, which is not there", p.Path, found[1]))
		} else if hasAnchor && !anchors[path][anchor] {
			problems = append(problems, fmt.Sprintf("%s links to %s, which has no such heading", p.Path, found[1]))
		}
	}
	return problems
}

// What pages name of the repository is in it: targets of make, packages, files and tests.
func TestNames(t *testing.T) {
	tests := testFunctions(t)
	makefile := string(read(t, filepath.Join(root, "Makefile")))
	for _, p := range pages.All(t) {
		for _, problem := range missingNames(p, makefile, tests) {
			t.Error(problem)
		}
	}
}

func missingNames(p pages.Page, makefile string, tests map[string]bool) (problems []string) {
	for _, code := range code(p) {
		if found := makeTarget.FindStringSubmatch(code); found != nil && !strings.Contains(makefile, "\n"+found[1]+":") {
			problems = append(problems, fmt.Sprintf("%s names make %s, which the Makefile does not have", p.Path, found[1]))
		}
		if found := goPackage.FindStringSubmatch(code); found != nil && !exists(strings.TrimSuffix(found[1], "/...")) {
			problems = append(problems, fmt.Sprintf("%s names the package %s, which is not there", p.Path, found[1]))
		}
		if repository.MatchString(code) && !exists(code) && !exists(filepath.Dir(code)+"/zz_generated."+filepath.Base(code)) {
			problems = append(problems, fmt.Sprintf("%s names %s, which is not there", p.Path, code))
		}
		if testName.MatchString(code) && !tests[code] {
			problems = append(problems, fmt.Sprintf("%s names %s, which is no test", p.Path, code))
		}
	}
	return problems
}

func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, path))
	return err == nil
}

// testFunctions are the tests, fuzz targets and benchmarks of the repository.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, source := range testSources(t) {
		for _, found := range testFunc.FindAllStringSubmatch(source, -1) {
			all[found[1]] = true
		}
	}
	return all
}

// testSources are the texts of the test files of the repository, by path from its root.
func testSources(t *testing.T) map[string]string {
	t.Helper()
	sources := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", ".plane", "bin", "dist", "docs"}, entry.Name()) {
			return fs.SkipDir
		}
		if strings.HasSuffix(path, "_test.go") {
			relative, err := filepath.Rel(root, path)
			sources[relative] = string(read(t, path))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

// The checks themselves find what they are for.
func TestNamesAreMissed(t *testing.T) {
	wrong := pages.Page{Path: "README.md", Text: "# One\n[a](docs/nowhere.md) [b](#two) [c](#one)\n\n`make nothing` `make test` `test/nowhere` `TestNothing` " +
		"`docs/*`\n```sh\ngo test ./test/nowhere\n```\n"}
	got := append(brokenLinks(wrong, map[string]map[string]bool{"README.md": anchorsOf(wrong)}), missingNames(wrong, "\ntest: build\n", nil)...)
	if len(got) != 6 {
		t.Errorf("want 6 problems, got:\n%s", strings.Join(got, "\n"))
	}
}
