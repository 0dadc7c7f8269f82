package upgrade

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/controlplane"
)

var update = flag.Bool("update", false, "write the output of its commands into docs/upgrade.md")

// console matches the blocks of commands and what they print.
var console = regexp.MustCompile("(?ms)^```console\n(.*?)^```$")

// The commands of docs/upgrade.md print what the page says. A command that is refused is part of the walk.
func TestDocument(t *testing.T) {
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "docs", "upgrade.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := enter(t, config.StepR1)
	r.openShop()
	r.create(older, 2)
	r.launch()

	written := console.ReplaceAllStringFunc(string(page), func(block string) string {
		var out strings.Builder
		out.WriteString("```console\n")
		for line := range strings.Lines(block) {
			command, isCommand := strings.CutPrefix(line, "$ ")
			if !isCommand {
				continue
			}
			if r.steps()[0] != config.StepR1 { // the operator is up by the time somebody types
				r.start()
				r.ready()
			}
			out.WriteString(line + r.shell(root, strings.TrimSpace(command)))
		}
		return out.String() + "```"
	})
	r.Expect(r.operator.Install(t.Context())).To(gomega.Succeed(), "the page ends with the removal of the operator")
	if *update {
		if err := os.WriteFile(file, []byte(written), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(normal(string(page)), normal(written)); diff != "" {
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
func (r *road) shell(root, line string) string {
	r.t.Helper()
	for _, verb := range []string{"migrate run", "migrate rollback", "uninstall"} {
		line = strings.Replace(line, "workloadctl "+verb, "workloadctl "+verb+" --settle "+settle.String(), 1)
	}
	command := exec.CommandContext(r.t.Context(), "sh", "-c", line)
	command.Dir = root
	path := filepath.Join(root, "bin") + ":" + filepath.Dir(r.plane.Kubectl()) + ":" + os.Getenv("PATH")
	command.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+r.plane.Kubeconfig())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if command.Run() != nil { // a refusal is part of the page
		return stdout.String() + stderr.String()
	}
	return stdout.String()
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
