package helm

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/manifests"
)

const (
	kustomizeModule = "../../tools/go.mod"
	// optional is an overlay with the components.
	optional = "../../charts/testdata/optional"
)

// O-10: the kustomization comes and goes, too, and leaves the definitions. Nothing runs here; other suites run what it installs.
func TestDeploy(t *testing.T) {
	s := attach(t)
	s.forget(t)
	s.kubelet.rest(true)
	defer s.kubelet.rest(false)
	const namespace = "workload-operator-system"
	s.must(t, "make", "deploy", "IMG=registry.example/workload-operator:v1")
	eventually(t, "both Pods are admitted", func() error {
		pods := &corev1.PodList{}
		if err := s.client.List(t.Context(), pods, client.InNamespace(namespace)); err != nil {
			return err
		}
		if len(pods.Items) != 2 || pods.Items[0].Spec.Containers[0].Image != "registry.example/workload-operator:v1" {
			return fmt.Errorf("%d Pods, want 2 with the image", len(pods.Items))
		}
		return nil
	})
	s.must(t, "workloadctl", "uninstall", "--yes", settle)
	s.independent(t)
	s.must(t, "make", "undeploy")
	for _, configuration := range s.webhooks(t) {
		t.Errorf("%s is left", configuration.GetName())
	}
	// Nobody owns the definitions, so they can be installed again without force.
	s.must(t, "make", "install")
	s.stores(t, newer)
	s.refusesToDelete(t)
}

// What the components make for cert-manager and the Prometheus operator is what these know.
func TestComponents(t *testing.T) {
	s := attach(t)
	s.foreignKinds(t)
	manifests.ReadInputs(t, "../../config", kustomizeModule)
	manifests.ReadInputs(t, optional)
	path, err := manifests.ToolPath(kustomizeModule, "kustomize")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, "build", optional).Output()
	if err != nil {
		t.Fatalf("kustomize build %s: %v\n%s", optional, err, manifests.Stderr(err))
	}
	objects := manifests.OfKind(manifests.Decode(t, out), "Issuer", "Certificate", "ServiceMonitor")
	if len(objects) != 5 {
		t.Errorf("%d objects, want 5", len(objects))
	}
	for _, object := range objects {
		object.SetNamespace("default") // theirs is not there, and need not be
		if err := s.dryRun(t, object); err != nil {
			t.Errorf("%s: %v", manifests.ID(object), err)
		}
	}
}

// refusesToDelete wants make uninstall to delete no objects unless it is told to.
func (s *site) refusesToDelete(t *testing.T) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "batch.example.com/v1", "kind": "PodSet", "metadata": map[string]any{"name": "left", "namespace": "default"},
		"spec": map[string]any{"image": "nginx"},
	}}
	eventually(t, "a PodSet can be created", func() error { return s.client.Create(t.Context(), object.DeepCopy()) })
	if out, err := s.run(t, "make", "uninstall"); err == nil || !strings.Contains(out, "podset.batch.example.com/left") || !strings.Contains(out, "FORCE=true") {
		t.Errorf("make uninstall: %v, and says %q", err, out)
	}
	if err := s.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatalf("the PodSet is lost: %v", err)
	}
	s.must(t, "make", "uninstall", "FORCE=true")
	s.forget(t)
}
