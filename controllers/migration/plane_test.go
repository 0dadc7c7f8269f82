package migration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/etcd"
)

var (
	objects = flag.Int("objects", 60, "how many objects the tests of many objects make")
	kills   = flag.Int("kills", 6, "how often a run is killed")
	size    = flag.Int("size", 2, "how many KiB of annotations each of many objects has")
)

const (
	crdName   = "webapps.app.example.com"
	group     = "app.example.com"
	namespace = "default"
	patience  = 30 * time.Second
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{Parts: controlplane.APIOnly()}))
}

// converter is the conversion webhook that all tests share.
type converter struct {
	*httptest.Server
	down atomic.Bool // it fails
	spec string      // of the definition, as it is at the beginning
}

var shared struct {
	once      sync.Once
	converter *converter
}

func newConverter() *converter {
	c := &converter{}
	handler := conversion.NewHandler(conversion.HandlerOptions{})
	c.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.down.Load() {
			http.Error(w, "the converter is down", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	return c
}

// cluster is a real API server with the definition of WebApp, converted by the handler in this process. Nothing else writes.
type cluster struct {
	*gomega.WithT
	*converter
	t      *testing.T
	plane  *controlplane.Plane
	client dynamic.Interface
	etcd   *etcd.Client
}

// start makes a definition that stores v1alpha1 and has no objects.
func start(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{WithT: gomega.NewWithT(t), t: t, plane: controlplane.Attach(t)}
	var err error
	config := c.plane.RESTConfig()
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	c.client, err = dynamic.NewForConfig(config)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.etcd, err = etcd.Open(c.plane)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	shared.once.Do(func() {
		shared.converter = newConverter()
		c.converter = shared.converter
		c.install()
	})
	c.converter = shared.converter
	t.Cleanup(func() { c.clean(context.WithoutCancel(t.Context())) })
	return c
}

// clean makes everything as it was. Replacing the definition would take longer.
func (c *cluster) clean(ctx context.Context) {
	c.down.Store(false)
	// Thousands take longer than one request may; each deletes some.
	c.Eventually(func() error {
		return c.in("v1").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}).WithTimeout(5 * patience).Should(gomega.Succeed())
	c.Eventually(func() map[string]etcd.Entry { return c.storedBy(ctx) }).WithTimeout(patience).Should(gomega.BeEmpty())
	c.Expect(c.patchCRD(ctx, fmt.Sprintf(`{"metadata":{"annotations":null},"spec":%s}`, c.spec))).To(gomega.Succeed())
	_, err := c.client.Resource(definitions).Patch(ctx, crdName, types.MergePatchType, []byte(`{"status":{"storedVersions":["v1alpha1"]}}`), metav1.PatchOptions{}, "status")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Eventually(func() error {
		_, err := c.in("v1alpha1").List(ctx, metav1.ListOptions{Limit: 1})
		return err
	}).WithTimeout(patience).Should(gomega.Succeed())
	c.awaitStorage(ctx, "v1alpha1")
}

// awaitStorage waits until the API server writes a version.
func (c *cluster) awaitStorage(ctx context.Context, version string) {
	c.Eventually(func() (string, error) {
		_, err := c.in("v1").Create(ctx, webApp("v1", "probe"), metav1.CreateOptions{})
		if err != nil {
			return "", err
		}
		stored := c.storedBy(ctx)["probe"]
		return strings.TrimPrefix(stored.APIVersion(), group+"/"), c.in("v1").Delete(ctx, "probe", metav1.DeleteOptions{})
	}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(gomega.Equal(version))
}

func (c *cluster) install() {
	c.t.Helper()
	crds, err := config.CRDs()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	for _, crd := range crds {
		if crd.Name != crdName {
			continue
		}
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v1alpha1"
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		delete(content, "status")
		client := map[string]any{"url": c.URL + "/convert", "caBundle": c.authority(1)}
		c.Expect(unstructured.SetNestedMap(content, client, "spec", "conversion", "webhook", "clientConfig")).To(gomega.Succeed())
		text, err := json.Marshal(content["spec"])
		c.Expect(err).NotTo(gomega.HaveOccurred())
		c.spec = string(text)
		_, err = c.client.Resource(definitions).Create(c.t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		c.Expect(err).NotTo(gomega.HaveOccurred())
	}
	c.served("v1")
	c.served("v1alpha1")
}

// authority is the caBundle, the same certificate so many times.
func (c *cluster) authority(times int) string {
	one := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
	return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(one), times)))
}

func (c *cluster) served(version string) {
	c.t.Helper()
	c.Eventually(c.t.Context(), func() error {
		_, err := c.in(version).List(c.t.Context(), metav1.ListOptions{})
		return err
	}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(gomega.Succeed())
}

func (c *cluster) in(version string) dynamic.ResourceInterface {
	return c.client.Resource(schema.GroupVersionResource{Group: group, Version: version, Resource: "webapps"}).Namespace(namespace)
}

// webApp is an object of either version, with an annotation of some size.
func webApp(version, name string) *unstructured.Unstructured {
	spec := map[string]any{"image": "web:1", "replicas": int64(3), "args": []any{"-v"}}
	if version == "v1alpha1" {
		spec = map[string]any{"image": map[string]any{"repository": "web", "tag": "1"}, "scale": map[string]any{"instances": int64(3)}}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/" + version, "kind": "WebApp", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// create makes n objects, every other one in v1.
func (c *cluster) create(n int) {
	c.t.Helper()
	g, ctx := errgroup.WithContext(c.t.Context())
	g.SetLimit(8)
	for i := range n {
		version := []string{"v1alpha1", "v1"}[i%2]
		g.Go(func() error {
			object := webApp(version, fmt.Sprintf("app-%05d", i))
			object.SetAnnotations(map[string]string{"example.net/filling": strings.Repeat("x", 1024**size)})
			_, err := c.in(version).Create(ctx, object, metav1.CreateOptions{FieldManager: "test"})
			return err
		})
	}
	c.Expect(g.Wait()).To(gomega.Succeed())
}

// store makes a version the storage version, and waits until the API server writes it.
func (c *cluster) store(version string) {
	c.t.Helper()
	e := c.engine(Options{})
	c.Expect(e.store(c.t.Context(), crdName, version)).To(gomega.Succeed())
}

// engine returns one that hurries.
func (c *cluster) engine(o Options) *Engine {
	c.t.Helper()
	o.SettleDelay, o.Poll = 500*time.Millisecond, 50*time.Millisecond
	if o.QPS == 0 {
		o.QPS = 5000
	}
	e, err := New(c.plane.RESTConfig(), o)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return e
}

// run runs to the end.
func (c *cluster) run(o Options) *Report {
	c.t.Helper()
	report, err := c.engine(o).Run(c.t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return report
}

// stored is what etcd has, by name.
func (c *cluster) stored() map[string]etcd.Entry {
	c.t.Helper()
	return c.storedBy(c.t.Context())
}

func (c *cluster) storedBy(ctx context.Context) map[string]etcd.Entry {
	c.t.Helper()
	entries, err := c.etcd.List(ctx, etcd.Prefix(schema.GroupResource{Group: group, Resource: "webapps"}))
	c.Expect(err).NotTo(gomega.HaveOccurred())
	byName := map[string]etcd.Entry{}
	for _, entry := range entries {
		byName[entry.Key[strings.LastIndex(entry.Key, "/")+1:]] = entry
	}
	return byName
}

// storedIn counts the objects by the version they are stored in.
func (c *cluster) storedIn() map[string]int {
	c.t.Helper()
	counts := map[string]int{}
	for _, entry := range c.stored() {
		counts[strings.TrimPrefix(entry.APIVersion(), group+"/")]++
	}
	return counts
}

func (c *cluster) storedVersions() []string {
	c.t.Helper()
	crd, err := c.client.Resource(definitions).Get(c.t.Context(), crdName, metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	versions, _, err := unstructured.NestedStringSlice(crd.Object, "status", "storedVersions")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return versions
}

// patchCRD changes the definition by a merge patch.
func (c *cluster) patchCRD(ctx context.Context, patch string) error {
	_, err := c.client.Resource(definitions).Patch(ctx, crdName, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"})
	return err
}

// resourceVersions of all objects, by name.
func (c *cluster) resourceVersions() map[string]string {
	c.t.Helper()
	list, err := c.in("v1").List(c.t.Context(), metav1.ListOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	versions := map[string]string{}
	for _, item := range list.Items {
		versions[item.GetName()] = item.GetResourceVersion()
	}
	return versions
}

// specs of all objects in a version, as JSON by name.
func (c *cluster) specs(version string) map[string]string {
	c.t.Helper()
	list, err := c.in(version).List(c.t.Context(), metav1.ListOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	specs := map[string]string{}
	for _, item := range list.Items {
		text, err := json.Marshal([]any{item.Object["spec"], item.Object["status"], item.GetGeneration(), item.GetAnnotations()})
		c.Expect(err).NotTo(gomega.HaveOccurred())
		specs[item.GetName()] = string(text)
	}
	return specs
}
