package e2e

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

func webApp(name string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":%q},"spec":{"image":"web:1","replicas":%d}}`, name, replicas)
}

func podSet(name string, replicas int) string {
	return fmt.Sprintf(`{"apiVersion":"batch.example.com/v1","kind":"PodSet","metadata":{"name":%q},"spec":{"image":"web:1","replicas":%d}}`, name, replicas)
}

// kinds are the two kinds as the tests of their common life need them.
var kinds = map[string]struct {
	manifest  func(name string, replicas int) string
	v1, older string
	label     string
	replicas  string // path of the desired number in the older version
}{
	"WebApp": {webApp, webAppV1, webAppV1alpha1, appv1.LabelWebApp, ".spec.scale.instances"},
	"PodSet": {podSet, podSetV1, podSetV1alpha1, batchv1.LabelPodSet, ".spec.size"},
}

// TestScale scales through /scale in both versions, A-21.
func TestScale(t *testing.T) {
	for kind, k := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := connect(t)
			c.must(k.manifest("x", 1), "apply", "-f", "-")
			c.must("", "scale", k.v1+"/x", "--replicas=4")
			c.Expect(c.field(k.older, "x", k.replicas)).To(gomega.Equal("4"))
			c.Eventually(func() int { return len(c.pods(k.label, "x")) }, patience, interval).Should(gomega.Equal(4))
			c.must("", "scale", k.older+"/x", "--replicas=2")
			c.Expect(c.field(k.v1, "x", ".spec.replicas")).To(gomega.Equal("2"))
			c.Eventually(func() int { return len(c.pods(k.label, "x")) }, patience, interval).Should(gomega.Equal(2))
			for _, resource := range []string{k.v1, k.older} {
				if _, err := c.kubectl("", "scale", resource+"/x", "--replicas=0"); err == nil {
					t.Errorf("%s was scaled to 0", resource)
				}
			}
			c.ready(k.v1, "x")
			c.Expect(c.field(k.v1, "x", ".spec.replicas")).To(gomega.Equal("2"))
		})
	}
}

// TestHealing deletes Pods and sees them replaced while the others stay, P-02.
func TestHealing(t *testing.T) {
	for kind, k := range kinds {
		t.Run(kind, func(t *testing.T) {
			c := connect(t)
			c.must(k.manifest("x", 3), "apply", "-f", "-")
			c.ready(k.v1, "x")
			before := c.pods(k.label, "x")
			victim := slices.Sorted(maps.Keys(before))[0]
			c.must("", "delete", "pod", victim, "--wait")
			c.Eventually(func() int { return len(c.pods(k.label, "x")) }, patience, interval).Should(gomega.Equal(3))
			c.ready(k.v1, "x")
			delete(before, victim)
			after := c.pods(k.label, "x")
			for name, pod := range before {
				if after[name].UID != pod.UID {
					t.Errorf("Pod %s was replaced without need", name)
				}
			}
		})
	}
}

// TestGarbageCollection deletes owners in either version and sees their children go.
func TestGarbageCollection(t *testing.T) {
	for kind, k := range kinds {
		for _, resource := range []string{k.v1, k.older} {
			t.Run(kind+" "+resource, func(t *testing.T) {
				c := connect(t)
				c.must(k.manifest("x", 2), "apply", "-f", "-")
				c.ready(k.v1, "x")
				c.must("", "delete", resource, "x", "--cascade=foreground", "--wait", "--timeout="+collectorPatience.String())
				c.Eventually(func() (int, error) {
					var pods corev1.PodList
					var deployments appsv1.DeploymentList
					var services corev1.ServiceList
					for _, err := range []error{c.list(&pods), c.list(&deployments), c.list(&services)} {
						if err != nil {
							return 0, err
						}
					}
					return len(pods.Items) + len(deployments.Items) + len(services.Items), nil
				}, collectorPatience, interval).Should(gomega.Equal(0))
			})
		}
	}
}

// TestTwoManagersInTwoVersions covers A-20: server-side apply by one manager in v1alpha1 and another in v1.
func TestTwoManagersInTwoVersions(t *testing.T) {
	c := connect(t)
	apply := func(manager, manifest string) {
		t.Helper()
		c.must(manifest, "apply", "--server-side", "--field-manager="+manager, "-f", "-")
	}
	older := func(scale string) string {
		return `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"x"},"spec":{"image":{"repository":"web","tag":"1"}` + scale + `}}`
	}
	apply("a", older(`,"scale":{"instances":2}`))
	apply("b", `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"x"},"spec":{"ingress":{"host":"h.example.com"}}}`)
	apply("a", older(`,"scale":{"instances":3}`))
	c.Expect(c.field(webAppV1, "x", ".spec.replicas")).To(gomega.Equal("3"))
	c.Expect(c.field(webAppV1, "x", ".spec.ingress.host")).To(gomega.Equal("h.example.com"))
	apply("a", older(""))
	c.Expect(c.field(webAppV1, "x", ".spec.replicas")).To(gomega.Equal("1"))
	c.Expect(c.field(webAppV1, "x", ".spec.ingress.host")).To(gomega.Equal("h.example.com"))
}

// TestAnOldClientReplaces covers A-10: a manifest in v1alpha1 that knows nothing of v1 takes nothing away from it.
func TestAnOldClientReplaces(t *testing.T) {
	c := connect(t)
	c.must(`{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"x"},"spec":{"image":"web:1","replicas":2,
		"env":[{"name":"Z","value":"1"},{"name":"A","value":"2"}],"volumes":[{"name":"tmp","emptyDir":{}}],
		"volumeMounts":[{"name":"tmp","mountPath":"/tmp"}],"ingress":{"host":"h.example.com"},"terminationGracePeriodSeconds":5}}`, "create", "-f", "-")
	c.ready(webAppV1, "x") // kubectl reads before it replaces: nobody else may write in between
	want := c.unstructuredOf("app.example.com/v1", "WebApp", "x").Object["spec"].(map[string]any)
	c.must(`{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"x"},"spec":{"image":{"repository":"web","tag":"2"},
		"scale":{"instances":2},"env":{"Z":"1","A":"2"}}}`, "replace", "-f", "-")
	object := c.unstructuredOf("app.example.com/v1", "WebApp", "x")
	want["image"] = "web:2"
	if diff := cmp.Diff(want, object.Object["spec"]); diff != "" {
		t.Errorf("spec (-want, +got):\n%s", diff)
	}
	c.Expect(object.GetGeneration()).To(gomega.BeNumerically("==", 2))
}

// TestManagerRestarts kills the manager and starts it again: it goes on where it was, and no Pod is replaced.
func TestManagerRestarts(t *testing.T) {
	c := connect(t)
	c.must(webApp("app", 3), "apply", "-f", "-")
	c.must(podSet("set", 3), "apply", "-f", "-")
	c.ready(webAppV1, "app")
	c.ready(podSetV1, "set")
	uids := func() map[string]types.UID {
		all := map[string]types.UID{}
		for name, pod := range c.pods(appv1.LabelWebApp, "app") {
			all[name] = pod.UID
		}
		for name, pod := range c.pods(batchv1.LabelPodSet, "set") {
			all[name] = pod.UID
		}
		return all
	}
	before := uids()
	c.operator.Kill()
	c.must("", "delete", "service", "app-svc") // while nobody looks
	if err := c.operator.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Eventually(func() error { _, err := c.kubectl("", "get", "service", "app-svc"); return err }, patience, interval).Should(gomega.Succeed())
	c.must("", "patch", podSetV1, "set", "--type=merge", "-p", `{"spec":{"replicas":4}}`)
	c.Eventually(func() int { return len(c.pods(batchv1.LabelPodSet, "set")) }, patience, interval).Should(gomega.Equal(4))
	after := uids()
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Pod %s was replaced", name)
		}
	}
}
