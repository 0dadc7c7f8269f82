package migration

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/workload-operator/conversion"
)

// apply applies on the server, without force.
func (c *cluster) apply(manager, text string) error {
	object := &unstructured.Unstructured{}
	c.Expect(object.UnmarshalJSON([]byte(text))).To(gomega.Succeed())
	version := strings.TrimPrefix(object.GetAPIVersion(), group+"/")
	_, err := c.in(version).Apply(c.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager})
	return err
}

func (c *cluster) get(name string) *unstructured.Unstructured {
	c.t.Helper()
	object, err := c.in("v1").Get(c.t.Context(), name, metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return object
}

// versionsOf lists the versions in an object's managedFields.
func versionsOf(object *unstructured.Unstructured) map[string]bool {
	versions := map[string]bool{}
	for _, entry := range object.GetManagedFields() {
		versions[entry.APIVersion] = true
	}
	return versions
}

// M-07: objects applied in both versions, migrated; then v1alpha1 leaves the definition. Both managers go on in v1, without force,
// and what one gives up goes. The control is an object whose managedFields still name the version that has gone.
func TestOldManagers(t *testing.T) {
	const (
		oldText = `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"NAME","labels":{"team":"blue"}},
			"spec":{"image":{"repository":"web","tag":"1"},"scale":{"instances":3},"env":{"A":"1","B":"2"}}}`
		newText = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"NAME"},
			"spec":{"targetPort":8080,"args":["-v"],"env":[{"name":"S","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}]}}`
	)
	c := start(t)
	for _, name := range []string{"web", "left"} {
		c.Expect(c.apply("old", strings.ReplaceAll(oldText, "NAME", name))).To(gomega.Succeed())
		c.Expect(c.apply("new", strings.ReplaceAll(newText, "NAME", name))).To(gomega.Succeed())
		_, err := c.in("v1alpha1").Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec":{"expose":{"port":81}}}`), metav1.PatchOptions{FieldManager: "edit"})
		c.Expect(err).NotTo(gomega.HaveOccurred())
	}
	c.store("v1")
	before := c.get("web")
	c.Expect(c.run(Options{}).Owners).To(gomega.Equal(2))
	c.Expect(versionsOf(c.get("web"))).To(gomega.Equal(map[string]bool{"app.example.com/v1": true}))

	// Whoever goes on in v1alpha1 meanwhile loses nothing, and is translated by the next run.
	c.Expect(c.apply("old", strings.ReplaceAll(oldText, "NAME", "web"))).To(gomega.Succeed())
	c.Expect(c.get("web").Object["spec"]).To(gomega.Equal(before.Object["spec"]))
	c.Expect(versionsOf(c.get("web"))).To(gomega.HaveKey("app.example.com/v1alpha1"))
	c.Expect(c.run(Options{}).Owners).To(gomega.Equal(1))
	c.Expect(c.apply("old", strings.ReplaceAll(oldText, "NAME", "left"))).To(gomega.Succeed())

	c.removeV1alpha1()
	converted, err := conversion.Convert([]byte(strings.ReplaceAll(oldText, "NAME", "web")), "app.example.com/v1")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	// An API server notices the new definition by a watch.
	c.Eventually(func() error { return c.apply("old", string(converted.Object)) }).WithTimeout(patience).Should(gomega.Succeed())
	c.Expect(c.apply("new", strings.ReplaceAll(newText, "NAME", "web"))).To(gomega.Succeed())
	c.Expect(c.get("web").Object["spec"]).To(gomega.Equal(before.Object["spec"]))
	c.Expect(c.apply("left", strings.ReplaceAll(newText, "NAME", "left"))).To(gomega.MatchError(gomega.ContainSubstring("v1alpha1")), "the control")

	c.Expect(c.apply("old", strings.Replace(string(converted.Object), `{"name":"B","value":"2"}`, `{"name":"C","value":"3"}`, 1))).To(gomega.Succeed())
	c.Expect(c.apply("new", strings.ReplaceAll(strings.Replace(newText, `"args":["-v"],`, "", 1), "NAME", "web"))).To(gomega.Succeed())
	spec, err := json.Marshal(c.get("web").Object["spec"])
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(string(spec)).To(gomega.MatchJSON(`{"image":"web:1","replicas":3,"port":81,"targetPort":8080,"env":[{"name":"A","value":"1"},
		{"name":"S","valueFrom":{"secretKeyRef":{"key":"k","name":"s"}}},{"name":"C","value":"3"}]}`))
}

// removeV1alpha1 leaves v1 alone in the definition.
func (c *cluster) removeV1alpha1() {
	c.t.Helper()
	crd, err := c.client.Resource(definitions).Get(c.t.Context(), crdName, metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	for _, v := range versions {
		if v.(map[string]any)["name"] == "v1" {
			c.Expect(unstructured.SetNestedSlice(crd.Object, []any{v}, "spec", "versions")).To(gomega.Succeed())
		}
	}
	c.Expect(unstructured.SetNestedMap(crd.Object, map[string]any{"strategy": "None"}, "spec", "conversion")).To(gomega.Succeed())
	_, err = c.client.Resource(definitions).Update(c.t.Context(), crd, metav1.UpdateOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
}

// M-12: many large objects. Memory stays bounded, progress is told all along, and lists in v1alpha1 answer meanwhile. At full size:
// -objects 5000 -size 50.
func TestMany(t *testing.T) {
	c := start(t)
	c.create(*objects)
	c.store("v1")
	var peak, steps, lists atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	listed := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := c.in("v1alpha1").List(ctx, metav1.ListOptions{Limit: 50}); err != nil && ctx.Err() == nil {
				listed <- err
				return
			}
			lists.Add(1)
			_ = pause(ctx, 200*time.Millisecond)
		}
		listed <- nil
	}()
	report := c.run(Options{Observe: func(p Progress) {
		if steps.Add(1)%100 == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapInuse)))
		}
		if p.Phase == PhaseRewriting && p.Done > 0 && p.Total < p.Done {
			t.Errorf("%d of %d", p.Done, p.Total)
		}
	}})
	stop()
	c.Expect(<-listed).To(gomega.Succeed())
	c.Expect(lists.Load()).To(gomega.BeNumerically(">", 0))
	c.Expect(report.Rewritten).To(gomega.Equal(*objects))
	c.Expect(report.Trimmed).To(gomega.BeTrue())
	c.Expect(steps.Load()).To(gomega.BeNumerically(">=", 2**objects))
	c.Expect(peak.Load()).To(gomega.BeNumerically("<", 256<<20), "bytes of heap, this test's own converter included")
	t.Logf("%d objects in %s, %d lists meanwhile, peak heap %d MiB", report.Objects, report.Duration, lists.Load(), peak.Load()>>20)
}
