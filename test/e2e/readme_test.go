package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
)

// migrating is the part of README.md that moves stored objects, with its commands.
var migrating = regexp.MustCompile("(?s)\n## Move what is stored .*?\n```console\n(.*?)```")

// TestReadmeMigrates types what README.md says: objects stored as v1alpha1 end up in v1, and the definitions say so.
func TestReadmeMigrates(t *testing.T) {
	c := connect(t)
	c.must("", "apply", "-f", sample(t, "app_v1alpha1_webapp.yaml"))
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	part := migrating.FindSubmatch(page)
	if part == nil {
		t.Fatal("README.md does not say how to migrate")
	}
	for line := range strings.Lines(string(part[1])) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ ")
		if !is {
			continue
		}
		shell := exec.CommandContext(t.Context(), "bash", "-c", `kubectl() { "$KUBECTL" --namespace "$NAMESPACE" "$@"; }; `+command)
		shell.Dir = root
		shell.Env = append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig(), "KUBECTL="+c.plane.Kubectl(), "NAMESPACE="+c.namespace)
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if strings.Contains(command, "--step R3") {
			c.Expect(c.storedVersions("webapps.app.example.com")).To(gomega.ContainElement("v1alpha1"), "there is something to migrate")
		}
	}
	for _, name := range []string{"webapps.app.example.com", "podsets.batch.example.com"} {
		c.Expect(c.storedVersions(name)).To(gomega.Equal([]string{"v1"}), name)
	}
}

func (c *cluster) storedVersions(name string) []string {
	c.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	c.Expect(c.client.Get(c.t.Context(), client.ObjectKey{Name: name}, crd)).To(gomega.Succeed())
	return crd.Status.StoredVersions
}
