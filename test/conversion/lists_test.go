package conversion

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// numbered is a WebApp in v1 with fields that v1alpha1 does not have.
const numbered = `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"web-%04d"},"spec":{"image":"reg:5000/web:%d","args":["-v"],
	"env":[{"name":"Z","value":"1"},{"name":"A","value":"2"}],"resources":{"requests":{"cpu":"1000m"},"limits":{"memory":"1Gi"}}}}`

// odd is valid in v1alpha1, though its image is not said as v1 would say it and its annotation of kept fields is damaged.
// It has the first name of all. No schema of v1alpha1 lets a value in that v1 cannot read at all.
const odd = `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"name":"odd","annotations":{"workload.example.com/v1-fields":"{"}},
	"spec":{"image":{"repository":"web@x","tag":"2"},"scale":{"instances":2}}}`

// fill creates numbered objects, several at a time.
func (c *cluster) fill(count int) {
	c.t.Helper()
	numbers := make(chan int)
	errs := make(chan error, count)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for i := range numbers {
				object := &unstructured.Unstructured{}
				if err := object.UnmarshalJSON(fmt.Appendf(nil, numbered, i, i)); err != nil {
					errs <- err
					continue
				}
				if _, err := c.of(webApps, "v1").Create(c.t.Context(), object, metav1.CreateOptions{}); err != nil {
					errs <- err
				}
			}
		})
	}
	for i := range count {
		numbers <- i
	}
	close(numbers)
	workers.Wait()
	close(errs)
	for err := range errs {
		c.t.Fatal(err)
	}
}

// lists (C-29): all objects are in a list of either version, in one piece or page by page, and the odd one hurts
// neither itself nor the others.
func lists(c *cluster) {
	const count = 5000
	started := time.Now()
	c.fill(count - 1)
	c.create(webApps, "v1alpha1", odd)
	c.t.Logf("%d objects created in %s", count, time.Since(started).Round(time.Millisecond))
	c.convertAgain(count)
	for _, version := range []string{"v1alpha1", "v1"} {
		started = time.Now()
		whole := c.list(version, metav1.ListOptions{})
		c.t.Logf("listed in %s in %s", version, time.Since(started).Round(time.Millisecond))
		c.expectNumbered(version, whole, count)
		c.Expect(c.pages(version, 499)).To(gomega.Equal(namesOf(whole)), "pages in %s", version)
	}
}

// convertAgain makes the API server forget what it has converted: it answers lists from a cache for each version, and
// rebuilds that of v1alpha1 when the definition changes.
func (c *cluster) convertAgain(count int) {
	c.t.Helper()
	before, started := c.reviews.count(), time.Now()
	patch := fmt.Sprintf(`[{"op":"replace","path":"/spec/conversion/webhook/clientConfig/url","value":%q}]`, c.converter+"/convert-again")
	_, err := c.client.Resource(definitions).Patch(c.t.Context(), "webapps.app.example.com", types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Eventually(c.t.Context(), func() int {
		c.list("v1alpha1", metav1.ListOptions{Limit: 1}) // nothing is rebuilt before the next request
		return c.reviews.count()
	}).WithTimeout(time.Minute).WithPolling(100 * time.Millisecond).Should(gomega.BeNumerically(">=", before+count))
	c.t.Logf("%d objects converted again in %s", count, time.Since(started).Round(time.Millisecond))
}

func (c *cluster) list(version string, options metav1.ListOptions) []unstructured.Unstructured {
	c.t.Helper()
	list, err := c.of(webApps, version).List(c.t.Context(), options)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return list.Items
}

func namesOf(items []unstructured.Unstructured) []string {
	names := make([]string, len(items))
	for i, item := range items {
		names[i] = item.GetName()
	}
	return names
}

// pages lists in several requests and returns the names in the order they came.
func (c *cluster) pages(version string, limit int64) []string {
	c.t.Helper()
	var names []string
	for options := (metav1.ListOptions{Limit: limit}); ; {
		page, err := c.of(webApps, version).List(c.t.Context(), options)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		c.Expect(len(page.Items)).To(gomega.BeNumerically("<=", limit))
		names = append(names, namesOf(page.Items)...)
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return names
		}
	}
}

// expectNumbered looks at every object of a list.
func (c *cluster) expectNumbered(version string, items []unstructured.Unstructured, count int) {
	c.t.Helper()
	c.Expect(items).To(gomega.HaveLen(count))
	c.Expect(slices.IsSorted(namesOf(items))).To(gomega.BeTrue())
	for i, item := range items[1:] { // "odd" is the first by name
		want := fmt.Sprintf("web-%04d reg:5000/web:%d", i, i)
		image, _, _ := unstructured.NestedString(item.Object, "spec", "image")
		if version == "v1alpha1" {
			parts, _, _ := unstructured.NestedStringMap(item.Object, "spec", "image")
			image = parts["repository"] + ":" + parts["tag"]
		}
		if got := item.GetName() + " " + image; got != want || item.GetAPIVersion() != "app.example.com/"+version {
			c.t.Fatalf("in %s: %s, want %s", item.GetAPIVersion(), got, want)
		}
	}
	want := parsed(c.t, `{"image":"web@x:2","replicas":2,"port":80}`)
	if version == "v1alpha1" {
		want = parsed(c.t, `{"image":{"repository":"web@x","tag":"2"},"scale":{"instances":2},"expose":{"port":80}}`)
	}
	c.Expect(items[0].Object["spec"]).To(gomega.BeComparableTo(any(want)), "in %s", version)
}

// event is what a watch delivers, without managedFields.
type event struct {
	kind   watch.EventType
	object *unstructured.Unstructured
}

// watches: a watch in either version delivers the same events in the same order, each object converted.
func watches(c *cluster) {
	watchers := map[string]watch.Interface{}
	for _, version := range []string{"v1", "v1alpha1"} {
		watcher, err := c.of(webApps, version).Watch(c.t.Context(), metav1.ListOptions{})
		c.Expect(err).NotTo(gomega.HaveOccurred())
		c.t.Cleanup(watcher.Stop)
		watchers[version] = watcher
	}
	c.fill(10)
	c.create(webApps, "v1alpha1", odd)
	c.patch("v1alpha1", "web-0001", types.MergePatchType, `{"spec":{"scale":{"instances":5},"env":{"A":null,"N":"1"}}}`)
	c.patch("v1", "web-0002", types.MergePatchType, `{"spec":{"args":["-w"]}}`)
	c.patch("v1alpha1", "web-0003", types.MergePatchType, `{"status":{"state":"running","available":1}}`, "status")
	c.Expect(c.of(webApps, "v1alpha1").Delete(c.t.Context(), "web-0004", metav1.DeleteOptions{})).To(gomega.Succeed())
	c.Expect(c.of(webApps, "v1").Delete(c.t.Context(), "odd", metav1.DeleteOptions{})).To(gomega.Succeed())
	const count = 10 + 1 + 3 + 2
	newer, older := c.events(watchers["v1"], count), c.events(watchers["v1alpha1"], count)
	for i := range newer {
		c.Expect(older[i].kind).To(gomega.Equal(newer[i].kind), "event %d", i)
		view := decoded(c.t, convert(c.t, encoded(c.t, newer[i].object.Object), "app.example.com/v1alpha1"))
		c.Expect(older[i].object.Object).To(gomega.BeComparableTo(view), "event %d", i)
	}
}

// events waits for so many events.
func (c *cluster) events(watcher watch.Interface, count int) []event {
	c.t.Helper()
	var events []event
	for range count {
		var next watch.Event
		c.Eventually(c.t.Context(), watcher.ResultChan()).WithTimeout(20*time.Second).Should(gomega.Receive(&next), "after %d events", len(events))
		object, ok := next.Object.(*unstructured.Unstructured)
		c.Expect(ok).To(gomega.BeTrue(), "%s %v", next.Type, next.Object)
		object.SetManagedFields(nil)
		events = append(events, event{next.Type, object})
	}
	return events
}

// deleteCollection does what the deletion of a namespace does: it deletes whatever a list returns, in either version.
func deleteCollection(c *cluster) {
	for _, version := range []string{"v1alpha1", "v1"} {
		c.fill(100)
		c.create(webApps, "v1alpha1", odd)
		c.Expect(c.of(webApps, version).DeleteCollection(c.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})).To(gomega.Succeed())
		c.Expect(c.list("v1", metav1.ListOptions{})).To(gomega.BeEmpty(), "after deleting in %s", version)
	}
}
