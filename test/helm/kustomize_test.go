package helm

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
