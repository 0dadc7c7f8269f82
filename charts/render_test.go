package charts

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	defaultNamespace = "workload-operator-system"
	defaultRelease   = "workload-operator"
)

// The paths of the pinned tools, each built once.
var (
	helm      = sync.OnceValues(func() (string, error) { return toolPath("../tools/helm/go.mod", "helm") })
	kustomize = sync.OnceValues(func() (string, error) { return toolPath("../tools/go.mod", "kustomize") })
)

// toolPath builds a tool into go's cache: running go tool -n afterwards says where it is.
func toolPath(modfile, name string) (string, error) {
	out, err := exec.Command("go", "tool", "-modfile="+modfile, "-n", name).Output()
	if err != nil {
		return "", errors.New("building " + name + ": " + err.Error() + "\n" + stderrOf(err))
	}
	return strings.TrimSpace(string(out)), nil
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// templateOutput is what helm template prints. Its environment is empty: no setting of the user's helm gets in.
func templateOutput(t *testing.T, release, namespace string, flags ...string) ([]byte, error) {
	t.Helper()
	readInputs(t, "workload-operator", "../tools/helm/go.mod")
	path, err := helm()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"template", release, "workload-operator", "--namespace", namespace}, flags...)
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
		t.Fatalf("helm template %s: %v\n%s", strings.Join(flags, " "), err, stderrOf(err))
	}
	return decode(t, out)
}

// buildDefault returns what kustomize builds of config/default.
func buildDefault(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	readInputs(t, "../config", "../tools/go.mod")
	path, err := kustomize()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "build", "../config/default").Output()
	if err != nil {
		t.Fatalf("kustomize build: %v\n%s", err, stderrOf(err))
	}
	return decode(t, out)
}

// readInputs opens what a tool will read. go test caches results by the files that the test itself has opened; without this a
// change of the chart would not be seen.
func readInputs(t *testing.T, folder string, files ...string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) != ".go" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		}
	}
}

func decode(t *testing.T, data []byte) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func ofKind(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool {
		return !slices.Contains(kinds, o.GetKind())
	})
}

// byID returns the contents of the objects. An object that is there twice is an error.
func byID(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	contents := map[string]any{}
	for _, object := range objects {
		id := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
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
	deployments := ofKind(objects, "Deployment")
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
	if err := unstructured.SetNestedMap(ofKind(objects, "Deployment")[0].Object, pod, "spec", "template", "spec"); err != nil {
		t.Fatal(err)
	}
}
