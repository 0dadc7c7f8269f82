package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fence = regexp.MustCompile("(?s)\n```\n(.*?)```")
	// notHere are what the plane cannot answer: it has no metrics server, no logs of Pods, and its manager is no Deployment.
	notHere = regexp.MustCompile(`kubectl (-n \S+ )?(logs|top)\b|/pods/POD:|describe deploy workload-operator-controller-manager`)
)

// TestRunbookCommands runs what docs/runbooks.md tells the reader to look at with kubectl, up to the first pipe: each command is
// accepted and finds what it names.
func TestRunbookCommands(t *testing.T) {
	c := connect(t)
	c.must(`{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": "web"}, "spec": {"image": "nginx:1"}}`, "apply", "-f", "-")
	c.must(`{"apiVersion": "batch.example.com/v1", "kind": "PodSet", "metadata": {"name": "web"}, "spec": {"image": "nginx:1"}}`, "apply", "-f", "-")
	c.ready(webAppV1, "web")
	c.ready(podSetV1, "web")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "runbooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	place := strings.NewReplacer("deploy NAME", "deploy web-deploy", "NAMESPACE", c.namespace, "NAME", "web")
	ran := map[string]bool{}
	for _, block := range fence.FindAllStringSubmatch(string(page), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(place.Replace(strings.TrimSpace(line)), " | ")
			if !strings.HasPrefix(line, "kubectl ") || notHere.MatchString(line) || ran[line] {
				continue
			}
			ran[line] = true
			command := exec.CommandContext(t.Context(), "bash", "-c", `kubectl() { "$KUBECTL" --namespace "$NAMESPACE" "$@"; }; `+line)
			command.Env = append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig(), "KUBECTL="+c.plane.Kubectl(), "NAMESPACE="+c.namespace)
			if out, err := command.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
		}
	}
	if len(ran) < 15 {
		t.Errorf("only %d commands found", len(ran))
	}
	t.Log(len(ran), "commands")
}
