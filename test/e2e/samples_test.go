package e2e

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/controlplane"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "config", "samples", name)
}

// keptAnnotation is where a v1alpha1 view carries what only v1 can show. The samples have nothing of that kind.
const keptAnnotation = `.metadata.annotations.workload\.example\.com/v1-fields`

// TestSamples applies each sample in its version and reads it in the other, W-01 and P-01.
func TestSamples(t *testing.T) {
	cases := map[string]struct {
		resource, other, name, label string
		pods                         int
		want                         map[string]string // fields of the other version
	}{
		"app_v1_webapp.yaml": {webAppV1, webAppV1alpha1, "my-app", appv1.LabelWebApp, 3, map[string]string{
			".spec.image.repository": "nginx", ".spec.image.tag": "1.25", ".spec.scale.instances": "3", ".spec.expose.port": "80",
			".status.state": "running", ".status.available": "3", keptAnnotation: "",
		}},
		"batch_v1_podset.yaml": {podSetV1, podSetV1alpha1, "podset-sample", batchv1.LabelPodSet, 3, map[string]string{
			".spec.size": "3", ".spec.container.image": "nginx:alpine", ".status.ready": "3", keptAnnotation: "",
		}},
		"app_v1alpha1_webapp.yaml":   {webAppV1alpha1, webAppV1, "", appv1.LabelWebApp, 0, nil},
		"batch_v1alpha1_podset.yaml": {podSetV1alpha1, podSetV1, "", batchv1.LabelPodSet, 0, nil},
	}
	for file, tc := range cases {
		t.Run(file, func(t *testing.T) {
			c := connect(t)
			name := c.must("", "apply", "-f", sample(t, file), "-o", "jsonpath={.metadata.name}")
			c.ready(tc.resource, name)
			c.Expect(c.field(tc.resource, name, ".status.observedGeneration")).To(gomega.Equal(c.field(tc.resource, name, ".metadata.generation")))
			got := map[string]string{}
			for path := range tc.want {
				got[path] = c.field(tc.other, name, path)
			}
			if diff := cmp.Diff(tc.want, got); tc.want != nil && diff != "" {
				t.Errorf("in the other version (-want, +got):\n%s", diff)
			}
			if pods := c.pods(tc.label, name); tc.pods > 0 && len(pods) != tc.pods {
				t.Errorf("%d Pods, want %d", len(pods), tc.pods)
			}
			c.must("", "get", tc.other, name)
			c.must("", "delete", tc.other, name, "--wait")
			c.Eventually(func() int { return len(c.pods(tc.label, name)) }, collectorPatience, interval).Should(gomega.Equal(0))
		})
	}
}
