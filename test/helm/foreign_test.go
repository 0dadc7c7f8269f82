package helm

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/manifests"
)

// foreignModules pins what foreign is part of.
const foreignModules = "../../tools/foreign"

// foreign are the definitions of others whose kinds we make objects of, as files of their modules.
var foreign = map[string][]string{
	"github.com/cert-manager/cert-manager": {
		"deploy/crds/cert-manager.io_certificates.yaml",
		"deploy/crds/cert-manager.io_issuers.yaml",
	},
	"github.com/prometheus-operator/prometheus-operator": {
		"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
	},
}

// foreignKinds defines the kinds of cert-manager and the Prometheus operator as these do, unless they are there.
func (s *site) foreignKinds(t *testing.T) {
	t.Helper()
	manifests.ReadInputs(t, foreignModules)
	var lists []*unstructured.UnstructuredList
	for module, files := range foreign {
		folder := moduleFolder(t, module)
		for _, file := range files {
			lists = append(lists, s.define(t, filepath.Join(folder, file)))
		}
	}
	for _, list := range lists {
		eventually(t, list.GetKind()+" is served", func() error { return s.client.List(t.Context(), list) })
	}
}

// moduleFolder is where go keeps a module. It is downloaded if it has to be.
func moduleFolder(t *testing.T, module string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = foreignModules
	out, err := command.Output()
	var found struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &found); err != nil || jsonErr != nil {
		t.Fatalf("go mod download %s: %v %s\n%s", module, err, found.Error, manifests.Stderr(err))
	}
	return found.Dir
}

// define creates a definition, and returns a list of its kind.
func (s *site) define(t *testing.T, file string) *unstructured.UnstructuredList {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	documents := manifests.Decode(t, data)
	if len(documents) != 1 || documents[0].GetKind() != "CustomResourceDefinition" {
		t.Fatalf("%s holds %d documents, want one definition", file, len(documents))
	}
	if err := s.client.Create(t.Context(), documents[0]); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	field := func(path ...string) string {
		text, _, err := unstructured.NestedString(documents[0].Object, path...)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(field("spec", "group") + "/v1")
	list.SetKind(field("spec", "names", "listKind"))
	return list
}

// The foreign definitions have schemas: a mistyped field in one of our templates is refused.
func TestForeignKindsRefuseTypos(t *testing.T) {
	s := attach(t)
	s.foreignKinds(t)
	tests := map[string]struct{ apiVersion, spec, typo string }{
		"Issuer":         {"cert-manager.io/v1", "{ca: {secretName: x}}", "{ca: {secretName: x, secret: x}}"},
		"Certificate":    {"cert-manager.io/v1", "{secretName: x, issuerRef: {name: x}}", "{secretName: x, issuerRef: {name: x}, dnsName: [x]}"},
		"ServiceMonitor": {"monitoring.coreos.com/v1", "{selector: {}, endpoints: [{port: x}]}", "{selector: {}, endpoints: [{port: x, tls: {}}]}"},
		"PrometheusRule": {"monitoring.coreos.com/v1", "{groups: [{name: x}]}", "{groups: [{name: x, rule: []}]}"},
	}
	for kind, test := range tests {
		t.Run(kind, func(t *testing.T) {
			object := func(spec string) *unstructured.Unstructured {
				o := &unstructured.Unstructured{}
				text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: x, namespace: default}, spec: %s}", test.apiVersion, kind, spec)
				if err := yaml.UnmarshalStrict([]byte(text), &o.Object); err != nil {
					t.Fatal(err)
				}
				return o
			}
			if err := s.dryRun(t, object(test.spec)); err != nil {
				t.Errorf("a good one is refused: %v", err)
			}
			if err := s.dryRun(t, object(test.typo)); err == nil || !strings.Contains(err.Error(), "field not declared in schema") {
				t.Errorf("a bad one: want an error about its field, got %v", err)
			}
		})
	}
}
