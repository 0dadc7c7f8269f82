package conversion

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
)

var (
	namespaces  = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	webApps     = schema.GroupVersionResource{Group: "app.example.com", Version: "v1", Resource: "webapps"}
	podSets     = schema.GroupVersionResource{Group: "batch.example.com", Version: "v1", Resource: "podsets"}
)

// cluster is a real API server that serves our kinds and converts them with the handler in this process. There is neither
// admission nor a controller of ours, so all that happens to an object is conversion.
type cluster struct {
	*gomega.WithT
	t         *testing.T
	plane     *controlplane.Plane
	client    dynamic.Interface
	reviews   *recorder
	converter string // where it is served
	namespace string
}

// startCluster brings up a plane of its own: other suites install the same definitions, with another converter.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	plane, err := controlplane.Start(t.Context(), controlplane.Options{Parts: controlplane.APIOnly()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{WithT: gomega.NewWithT(t), t: t, plane: plane, reviews: &recorder{handler: conversion.NewHandler(conversion.HandlerOptions{})}}
	restConfig := plane.RESTConfig()
	restConfig.WarningHandlerWithContext = silent{}
	if c.client, err = dynamic.NewForConfig(restConfig); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(c.reviews)
	t.Cleanup(server.Close)
	c.converter = server.URL
	c.install(server)
	return c
}

// silent drops the deprecation warnings of v1alpha1.
type silent struct{}

func (silent) HandleWarningHeaderWithContext(context.Context, int, string, string) {}

// install creates the definitions as shipped, except that the converter is called by URL, and waits until both versions
// of both kinds are served.
func (c *cluster) install(server *httptest.Server) {
	c.t.Helper()
	crds, err := config.CRDs()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		delete(content, "status")
		client := map[string]any{"url": server.URL + "/convert", "caBundle": base64.StdEncoding.EncodeToString(authority)}
		c.Expect(unstructured.SetNestedMap(content, client, "spec", "conversion", "webhook", "clientConfig")).To(gomega.Succeed())
		_, err = c.client.Resource(definitions).Create(c.t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		c.Expect(err).NotTo(gomega.HaveOccurred())
	}
	for _, resource := range []schema.GroupVersionResource{webApps, podSets} {
		for _, version := range []string{"v1", "v1alpha1"} {
			c.Eventually(c.t.Context(), func() error {
				_, err := c.client.Resource(in(resource, version)).List(c.t.Context(), metav1.ListOptions{})
				return err
			}).WithTimeout(30 * time.Second).WithPolling(50 * time.Millisecond).Should(gomega.Succeed())
		}
	}
}

// in is a resource in another version.
func in(resource schema.GroupVersionResource, version string) schema.GroupVersionResource {
	resource.Version = version
	return resource
}

// within is the same cluster for a subtest, with a namespace of its own.
func (c *cluster) within(t *testing.T) *cluster {
	t.Helper()
	inner := *c
	inner.t, inner.WithT = t, gomega.NewWithT(t)
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetGenerateName("conversion-")
	created, err := c.client.Resource(namespaces).Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	inner.namespace = created.GetName()
	return &inner
}

func (c *cluster) of(resource schema.GroupVersionResource, version string) dynamic.ResourceInterface {
	return c.client.Resource(in(resource, version)).Namespace(c.namespace)
}

// create creates an object from YAML's subset JSON; apiVersion and kind are in it.
func (c *cluster) create(resource schema.GroupVersionResource, version, body string) {
	c.t.Helper()
	_, err := c.of(resource, version).Create(c.t.Context(), c.object(body), metav1.CreateOptions{FieldManager: "test"})
	c.Expect(err).NotTo(gomega.HaveOccurred())
}

func (c *cluster) object(body string) *unstructured.Unstructured {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	c.Expect(object.UnmarshalJSON([]byte(body))).To(gomega.Succeed(), body)
	return object
}

func (c *cluster) get(resource schema.GroupVersionResource, version, name string) *unstructured.Unstructured {
	c.t.Helper()
	object, err := c.of(resource, version).Get(c.t.Context(), name, metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return object
}

// apply applies on the server, without force: managers must not get into each other's way.
func (c *cluster) apply(resource schema.GroupVersionResource, version, manager, body string) {
	c.t.Helper()
	object := c.object(body)
	_, err := c.of(resource, version).Apply(c.t.Context(), object.GetName(), object, metav1.ApplyOptions{FieldManager: manager})
	c.Expect(err).NotTo(gomega.HaveOccurred())
}

func (c *cluster) patch(version, name string, kind types.PatchType, patch string, subresources ...string) {
	c.t.Helper()
	_, err := c.of(webApps, version).Patch(c.t.Context(), name, kind, []byte(patch), metav1.PatchOptions{FieldManager: "test"}, subresources...)
	c.Expect(err).NotTo(gomega.HaveOccurred())
}

// kubectl runs a command in the namespace of the test.
func (c *cluster) kubectl(stdin string, args ...string) string {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), c.plane.Kubectl(), append([]string{"--namespace", c.namespace}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig())
	command.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	c.Expect(command.Run()).To(gomega.Succeed(), "kubectl %s: %s", strings.Join(args, " "), &stderr)
	return stdout.String()
}

// parsed is JSON as the API server's clients decode it.
func parsed(t testing.TB, text string) map[string]any {
	t.Helper()
	return decoded(t, []byte(text))
}
