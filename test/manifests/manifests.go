package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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

// Tools pins kustomize.
const Tools = "../tools/go.mod"

var kustomize = sync.OnceValues(func() (string, error) { return ToolPath(Tools, "kustomize") })

// ToolPath builds a tool into go's cache, unless it is there, and says where it is.
func ToolPath(modfile, name string) (string, error) {
	out, err := exec.Command("go", "tool", "-modfile="+modfile, "-n", name).Output()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, Stderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// Stderr is what a command that failed printed to standard error.
func Stderr(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}

// Kustomize returns what kustomize builds of a folder in the tree config.
func Kustomize(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	ReadInputs(t, "../config", Tools)
	path, err := kustomize()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "build", filepath.Join("../config", folder)).Output()
	if err != nil {
		t.Fatalf("kustomize build config/%s: %v\n%s", folder, err, Stderr(err))
	}
	return Decode(t, out)
}

// ReadInputs opens what a tool will read: some files, and all in a folder that are not Go. go test caches results by the files that
// the test itself has opened; without this a change of them would not be seen.
func ReadInputs(t *testing.T, folder string, files ...string) {
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

// Decode reads the documents of a stream, strictly.
func Decode(t *testing.T, data []byte) []*unstructured.Unstructured {
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

// OfKind returns the objects of some kinds.
func OfKind(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}

// ID names an object.
func ID(object *unstructured.Unstructured) string {
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
