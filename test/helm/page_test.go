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

// The commands of docs/install.md have been run by the tests above, but for names, a single replica, and what shortens the waiting.
func TestDocumentHasBeenRun(t *testing.T) {
	if only := flag.Lookup("test.run").Value.String(); only != "" {
		t.Logf("judges only a run of all tests, not of %s", only)
		return
	}
	s := attach(t)
	page, err := os.ReadFile(filepath.Join(s.root, "docs", "install.md"))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.NewReplacer(
		s.chart, chartPath, " --set replicas=1", "", " --wait=false", "", " --yes "+settle, "",
		"team", "workload-operator", "elsewhere", "workload-operator-system", " --set crds.step=R2", "", " --set crds.step=R3", "",
	)
	var ran []string
	for _, line := range s.ran {
		for _, dir := range s.copies {
			line = strings.ReplaceAll(line, dir, chartPath)
		}
		ran = append(ran, plain.Replace(line))
	}
	var commands int
	for _, block := range fenced.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			commands++
			if line = strings.TrimSpace(line); !slices.Contains(ran, line) {
				t.Errorf("no test has run: %s", line)
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands on the page", commands)
	}
}
