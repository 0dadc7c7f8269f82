package helm

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fenced matches the blocks of commands of a page.
var fenced = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// The commands of docs/install.md, and of docs/sharding.md where it installs, have been run by the tests above, but for names, a single
// replica, and what shortens the waiting.
func TestDocumentHasBeenRun(t *testing.T) {
	if only := flag.Lookup("test.run").Value.String(); only != "" {
		t.Logf("judges only a run of all tests, not of %s", only)
		return
	}
	s := attach(t)
	plain := strings.NewReplacer(
		s.chart, chartPath, " --set replicas=1", "", " --wait=false", "", " --yes "+settle, "",
		"team ", "workload-operator ", "elsewhere", "workload-operator-system", " --set crds.step=R2", "", " --set crds.step=R3", "",
	)
	var ran []string
	for _, line := range s.ran {
		for _, dir := range s.copies {
			line = strings.ReplaceAll(line, dir, chartPath)
		}
		ran = append(ran, plain.Replace(line))
	}
	install, sharding := commandsOf(t, s, "install.md"), commandsOf(t, s, "sharding.md")
	if len(install) < 10 || len(sharding) < 3 {
		t.Errorf("%d and %d commands on the pages", len(install), len(sharding))
	}
	for _, line := range append(install, sharding[:2]...) {
		if !slices.Contains(ran, line) {
			t.Errorf("no test has run: %s", line)
		}
	}
}

// commandsOf are the command lines of a page, without what only the shell sees.
func commandsOf(t *testing.T, s *site, name string) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(s.root, "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	shell := strings.NewReplacer(" \\\n  ", " ", "'", "")
	var commands []string
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(shell.Replace(block[1])) {
			commands = append(commands, strings.TrimSpace(line))
		}
	}
	return commands
}
