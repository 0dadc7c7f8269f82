package charts

import (
	"os/exec"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/workload-operator/test/manifests"
)

const (
	shipped          = "workload-operator"
	defaultNamespace = "workload-operator-system"
	defaultRelease   = "workload-operator"
)

// helm is the path of the pinned tool, built once.
var helm = sync.OnceValues(func() (string, error) { return manifests.ToolPath("../tools/helm/go.mod", "helm") })

// templateOutput is what helm template prints of the shipped chart.
func templateOutput(t *testing.T, release, namespace string, flags ...string) ([]byte, error) {
	t.Helper()
	return outputOf(t, shipped, release, namespace, flags...)
}

// outputOf is what helm template prints. Its environment is empty: no setting of the user's helm gets in.
func outputOf(t *testing.T, chart, release, namespace string, flags ...string) ([]byte, error) {
	t.Helper()
	manifests.ReadInputs(t, chart, "../tools/helm/go.mod")
	path, err := helm()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"template", release, chart, "--namespace", namespace}, flags...)
	command := exec.CommandContext(t.Context(), path, args...)
	home := t.TempDir()
	command.Env = []string{"HOME=" + home, "HELM_CACHE_HOME=" + home, "HELM_CONFIG_HOME=" + home, "HELM_DATA_HOME=" + home}
	return command.Output()
}

// render returns what a release would install.
func render(t *testing.T, release, namespace string, flags ...string) []*unstructured.Unstructured {
	t.Helper()
	out, err := templateOutput(t, release, namespace, flags...)
	if err != nil {
		t.Fatalf("helm template %s: %v\n%s", strings.Join(flags, " "), err, manifests.Stderr(err))
	}
	return manifests.Decode(t, out)
}

// byID returns the contents of the objects. An object that is there twice is an error.
func byID(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	contents := map[string]any{}
	for _, object := range objects {
		id := manifests.ID(object)
		if contents[id] != nil {
			t.Errorf("%s is there twice", id)
		}
		contents[id] = object.Object
	}
	return contents
}

// manager returns copies of the Deployment's Pod and of its only container.
func manager(t *testing.T, objects []*unstructured.Unstructured) (pod, container map[string]any) {
	t.Helper()
	deployments := manifests.OfKind(objects, "Deployment")
	if len(deployments) != 1 {
		t.Fatalf("%d Deployments, want 1", len(deployments))
	}
	pod, _, err := unstructured.NestedMap(deployments[0].Object, "spec", "template", "spec")
	if err != nil {
		t.Fatal(err)
	}
	containers, _ := pod["containers"].([]any)
	if len(containers) != 1 {
		t.Fatalf("%d containers, want 1", len(containers))
	}
	container, _ = containers[0].(map[string]any)
	return pod, container
}

// setManager puts a changed container back; manager returns copies.
func setManager(t *testing.T, objects []*unstructured.Unstructured, pod, container map[string]any) {
	t.Helper()
	pod["containers"] = []any{container}
	if err := unstructured.SetNestedMap(manifests.OfKind(objects, "Deployment")[0].Object, pod, "spec", "template", "spec"); err != nil {
		t.Fatal(err)
	}
}
