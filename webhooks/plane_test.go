package webhooks

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
)

// cluster is a real API server with our kinds, and our webhooks in this process. It has no controllers, so nothing but the
// test writes.
type cluster struct {
	client   dynamic.Interface
	rest     rest.Interface // for requests whose bytes matter
	warnings *warningRecorder
	address  string // where the webhooks listen
	server   *httptest.Server
}

const namespace = "default"

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	resources   = map[schema.GroupKind]string{webApp: "webapps", podSet: "podsets"}
	versions    = []string{"v1", "v1alpha1"}
)

// startCluster brings a plane of its own up: other suites install the same cluster-wide objects. before runs while nothing is
// validated yet, so that it can store objects that no rule would accept today.
func startCluster(t *testing.T, before func(*cluster)) *cluster {
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
	c := &cluster{warnings: &warningRecorder{}, address: "127.0.0.1:0"}
	config := plane.RESTConfig()
	config.WarningHandlerWithContext = c.warnings
	if c.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	unversioned := dynamic.ConfigFor(config)
	unversioned.GroupVersion = &schema.GroupVersion{}
	if c.rest, err = rest.UnversionedRESTClientFor(unversioned); err != nil {
		t.Fatal(err)
	}
	c.installUnchecked(t)
	before(c)
	c.startWebhooks(t)
	c.install(t)
	return c
}

// startWebhooks serves on the address that was used before, if any.
func (c *cluster) startWebhooks(t *testing.T) {
	t.Helper()
	server := webhook.NewServer(webhook.Options{})
	if err := Setup(serverOnly{server: server}); err != nil {
		t.Fatal(err)
	}
	server.Register("/convert", conversion.NewHandler(conversion.HandlerOptions{}))
	listener, err := net.Listen("tcp", c.address)
	if err != nil {
		t.Fatal(err)
	}
	c.address = listener.Addr().String()
	c.server = httptest.NewUnstartedServer(server.WebhookMux())
	if err := errors.Join(c.server.Listener.Close()); err != nil {
		t.Fatal(err)
	}
	c.server.Listener = listener
	c.server.StartTLS()
	t.Cleanup(c.server.Close)
}

// serverOnly is as much of a manager as Setup needs.
type serverOnly struct {
	ctrl.Manager
	server webhook.Server
}

func (s serverOnly) GetWebhookServer() webhook.Server { return s.server }

// installUnchecked installs our definitions with any spec, without CEL rules and without webhooks.
func (c *cluster) installUnchecked(t *testing.T) {
	t.Helper()
	for _, crd := range shipped(t) {
		object := plain(t, crd)
		unstructured.RemoveNestedField(object, "spec", "conversion")
		withoutRules(object)
		withAnySpec(t, object)
		if _, err := c.client.Resource(definitions).Create(t.Context(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for gk, object := range map[schema.GroupKind]string{webApp: "probe-a", podSet: "probe-b"} {
		eventually(t, func() error { return c.create(t, gk, "v1", named(t, base(t, gk.WithVersion("v1")), object), true) })
	}
}

// withoutRules removes what CEL holds from everything below node.
func withoutRules(node any) {
	switch value := node.(type) {
	case map[string]any:
		delete(value, "x-kubernetes-validations")
		for _, child := range value {
			withoutRules(child)
		}
	case []any:
		for _, child := range value {
			withoutRules(child)
		}
	}
}

// withAnySpec lets every spec in, as if all its rules were still to come.
func withAnySpec(t *testing.T, definition map[string]any) {
	t.Helper()
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, version := range versions {
		anything := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		if err := unstructured.SetNestedMap(version.(map[string]any), anything, "schema", "openAPIV3Schema", "properties", "spec"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(definition, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}

// install brings definitions and webhook configurations to what is shipped, except that the webhooks are called by URL.
func (c *cluster) install(t *testing.T) {
	t.Helper()
	for _, crd := range shipped(t) {
		object := plain(t, crd)
		c.callByURL(object["spec"].(map[string]any)["conversion"].(map[string]any)["webhook"].(map[string]any), "clientConfig")
		c.apply(t, definitions, object)
	}
	manifests, err := os.ReadFile("../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		for _, webhook := range object["webhooks"].([]any) {
			c.callByURL(webhook.(map[string]any), "clientConfig")
		}
		resource := strings.ToLower(object["kind"].(string)) + "s"
		c.apply(t, schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}, object)
	}
	for gk := range resources {
		for _, version := range versions {
			c.awaitRules(t, gk, version)
		}
	}
}

// awaitRules waits until a rule of CEL and one of the webhook are in force.
func (c *cluster) awaitRules(t *testing.T, gk schema.GroupKind, version string) {
	t.Helper()
	for _, bad := range badSpecs[gk.WithVersion(version)][:2] {
		eventually(t, func() error {
			err := c.create(t, gk, version, base(t, gk.WithVersion(version), `{"metadata": {"name": "probe"}, "spec": `+bad.spec+`}`), true)
			if apierrors.IsInvalid(err) {
				return nil
			}
			return errors.Join(errors.New("not refused yet"), err)
		})
	}
}

// callByURL replaces the Service of a client configuration.
func (c *cluster) callByURL(holder map[string]any, name string) {
	path, _, _ := unstructured.NestedString(holder, name, "service", "path")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	client := map[string]any{"url": "https://" + c.address + path}
	bundle, err := json.Marshal(authority) // base64, as the API wants it
	if err == nil {
		client["caBundle"] = strings.Trim(string(bundle), `"`)
	}
	holder[name] = client
}

// apply makes the object what it should be, whether or not it is there.
func (c *cluster) apply(t *testing.T, resource schema.GroupVersionResource, object map[string]any) {
	t.Helper()
	desired := &unstructured.Unstructured{Object: object}
	_, err := c.client.Resource(resource).Apply(t.Context(), desired.GetName(), desired, metav1.ApplyOptions{FieldManager: "test", Force: true})
	if err != nil {
		t.Fatal(err)
	}
}

// of is the client for a kind in a version.
func (c *cluster) of(gk schema.GroupKind, version string) dynamic.ResourceInterface {
	return c.client.Resource(gk.WithVersion(version).GroupVersion().WithResource(resources[gk])).Namespace(namespace)
}

// create writes an object. A dry run stores nothing.
func (c *cluster) create(t *testing.T, gk schema.GroupKind, version string, raw []byte, dryRun bool) error {
	t.Helper()
	_, err := c.of(gk, version).Create(t.Context(), decodedObject(t, raw), metav1.CreateOptions{DryRun: dryRunOption(dryRun), FieldManager: "test"})
	return err
}

// patch applies a JSON merge patch to an object or one of its subresources.
func (c *cluster) patch(t *testing.T, gk schema.GroupKind, version, name, patch string, subresources ...string) error {
	t.Helper()
	_, err := c.of(gk, version).Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "test"}, subresources...)
	return err
}

func (c *cluster) get(t *testing.T, gk schema.GroupKind, version, name string) *unstructured.Unstructured {
	t.Helper()
	object, err := c.of(gk, version).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object
}

func dryRunOption(dryRun bool) []string {
	if dryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// named gives an object another name.
func named(t testing.TB, raw []byte, name string) []byte {
	t.Helper()
	return merged(t, string(raw), `{"metadata": {"name": "`+name+`"}}`)
}

func decodedObject(t testing.TB, raw []byte) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(raw); err != nil {
		t.Fatal(err)
	}
	return object
}

func plain(t testing.TB, object any) map[string]any {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	return content
}

// eventually waits for what the API server does on its own: serving a definition, noticing a webhook configuration.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(t.Context(), try).WithTimeout(30 * time.Second).WithPolling(50 * time.Millisecond).Should(gomega.Succeed())
}

// warningRecorder collects the warnings of responses.
type warningRecorder struct {
	mu    sync.Mutex
	texts []string
}

func (w *warningRecorder) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.texts = append(w.texts, text)
}

// take returns the warnings since the last call, sorted.
func (w *warningRecorder) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := slices.Sorted(slices.Values(w.texts))
	w.texts = nil
	return texts
}

// causes returns the fields of a refusal, and fails unless it is one.
func causes(t testing.TB, err error) []string {
	t.Helper()
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Code != http.StatusUnprocessableEntity || status.Status().Details == nil {
		t.Fatalf("got %v, want a refusal (422)", err)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		// The API server adds a cause without a field when it did not run CEL, and one for the path of /scale.
		if cause.Field != "<nil>" && !strings.HasPrefix(cause.Field, ".") {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}
