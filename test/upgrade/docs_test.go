package upgrade

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/pages"
)

var update = flag.Bool("update", false, "write the output of its commands into docs/upgrade.md")

// The commands of docs/upgrade.md print what the page says, where it says something. A command that is refused is part of the walk. Those
// of helm, and what is typed with them, are typed by test/helm.
func TestDocument(t *testing.T) {
	page := pages.Part(t, "docs/upgrade.md", "")
	r := enter(t, config.StepR1)
	r.openShop()
	r.create(older, 2)
	r.launch()

	written := page.Rewrite(func(block pages.Block) string {
		var out strings.Builder
		commands := block.Commands()
		if slices.ContainsFunc(commands, func(command pages.Command) bool { return strings.HasPrefix(command.Line, "helm ") }) {
			return block.Text
		}
		for _, command := range commands {
			if r.steps()[0] != config.StepR1 { // the operator is up by the time somebody types
				r.start()
				r.ready()
			}
			printed, err := r.shell(command.Line)
			if err != nil && block.Language != "console" { // where the page shows what is printed, a refusal is part of it
				t.Errorf("%s: %v\n%s", command.Line, err, printed)
			}
			out.WriteString("$ " + command.Line + "\n" + printed)
		}
		if block.Language != "console" {
			return block.Text
		}
		return out.String()
	})
	r.Expect(r.operator.Install(t.Context())).To(gomega.Succeed(), "the page ends with the removal of the operator")
	if *update {
		if err := os.WriteFile(filepath.Join("..", "..", page.Path), []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(normal(page.Text), normal(written)); diff != "" {
		t.Errorf("the page and what its commands print differ; if they should, run this test with -args -update (-page +printed):\n%s", diff)
	}
}

// openShop moves the test into the namespace that the page talks about.
func (r *road) openShop() {
	r.t.Helper()
	shop := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	shop.SetName("shop")
	r.Expect(r.client.Create(r.t.Context(), shop)).To(gomega.Succeed())
	left := r.namespace
	r.Expect(r.dynamic.Resource(namespaces).Delete(r.t.Context(), left, metav1.DeleteOptions{})).To(gomega.Succeed())
	r.namespace = shop.GetName()
}

// shell runs a command line as a reader would, and returns what it prints, without the progress that a command shows on standard
// error unless it fails. Only the time that definitions must have been left alone for is shortened.
func (r *road) shell(line string) (printed string, err error) {
	r.t.Helper()
	for _, verb := range []string{"migrate run", "migrate rollback", "uninstall"} {
		line = strings.Replace(line, "workloadctl "+verb, "workloadctl "+verb+" --settle "+settle.String(), 1)
	}
	stdout, stderr, err := pages.Terminal{Plane: r.plane}.Type(r.t.Context(), line)
	if err != nil {
		stdout += stderr
	}
	return stdout, err
}

var (
	durations = regexp.MustCompile(`\b([0-9.]+(ms|s|m|h))+\b`)
	times     = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+Z`)
	blanks    = regexp.MustCompile(`[ \t]+`)
)

// normal is a text without what differs from run to run.
func normal(text string) string {
	text = times.ReplaceAllString(text, "TIME")
	text = durations.ReplaceAllString(text, "DURATION")
	return blanks.ReplaceAllString(text, " ")
}
