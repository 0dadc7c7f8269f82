package helm

import (
	"flag"
	"slices"
	"strings"
	"testing"

	"github.com/example/workload-operator/test/pages"
)

// The commands for helm, and those around them, that pages show have been run by the tests above, but for names, a single replica, and what
// shortens the waiting.
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
	const secret = "kubectl -n workload-operator-system patch secret workload-operator-webhook-certs " // which test/e2e types
	var ran []string
	for _, line := range s.ran {
		for _, dir := range s.copies {
			line = strings.ReplaceAll(line, dir, chartPath)
		}
		ran = append(ran, plain.Replace(line))
	}
	for _, page := range []pages.Page{
		pages.Part(t, "README.md", "Install it in a cluster"), pages.Part(t, "docs/install.md", ""), pages.Part(t, "docs/sharding.md", ""),
		pages.Part(t, "docs/upgrade.md", "With Helm"), pages.Part(t, "docs/certificates.md", "Who makes the certificate: `--certificate-mode`"),
	} {
		for _, command := range page.Typed() {
			line := strings.ReplaceAll(command.Line, "'", "")
			if !slices.Contains(ran, line) && !strings.HasPrefix(line, secret) {
				t.Errorf("%s: no test has run: %s", page.Path, line)
			}
		}
	}
}
