package admission

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/webhooks"
)

// cluster is an API server with our definitions, and converter and webhooks in this process.
type cluster struct {
	client dynamic.Interface
	server *httptest.Server
	root   string
}

var webApps = schema.GroupResource{Group: "app.example.com", Resource: "webapps"}

// stop ends what the benchmarks have started. go test ./... starts nothing here, since there are no tests.
var stop = func() error { return nil }

func TestMain(m *testing.M) {
	code := m.Run()
	if err := stop(); err != nil {
		log.Print(err)
		code = 1
	}
	os.Exit(code)
}

// shared is the cluster of all benchmarks.
var shared = sync.OnceValues(func() (*cluster, error) {
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := controlplane.Start(ctx, controlplane.Options{Parts: controlplane.APIOnly()})
	if err != nil {
		cancel()
		return nil, err
	}
	c := &cluster{}
	stop = func() error {
		defer cancel()
		if c.server != nil {
			c.server.Close()
		}
		return plane.Stop()
	}
	return c, c.start(ctx, plane)
})

func connect(b *testing.B) *cluster {
	b.Helper()
	c, err := shared()
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func (c *cluster) start(ctx context.Context, plane *controlplane.Plane) (err error) {
	if c.root, err = controlplane.FindRoot(); err != nil {
		return err
	}
	restConfig := plane.RESTConfig()
	restConfig.QPS = -1 // the client must not wait
	restConfig.WarningHandlerWithContext = silent{}
	if c.client, err = dynamic.NewForConfig(restConfig); err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{})
	if err := webhooks.Setup(serverOnly{server: server}); err != nil {
		return err
	}
	server.Register("/convert", conversion.NewHandler(conversion.HandlerOptions{}))
	c.server = httptest.NewUnstartedServer(server.WebhookMux())
	c.server.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that end
	c.server.StartTLS()
	crds, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return err
		}
		delete(content, "status")
		if err := unstructured.SetNestedMap(content, c.clientConfig("/convert"), "spec", "conversion", "webhook", "clientConfig"); err != nil {
			return err
		}
		definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
		if _, err := c.client.Resource(definitions).Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return c.setWebhooks(ctx, true)
}

// serverOnly is as much of a manager as Setup needs.
type serverOnly struct {
	ctrl.Manager
	server webhook.Server
}

func (s serverOnly) GetWebhookServer() webhook.Server { return s.server }

type silent struct{}

func (silent) HandleWarningHeaderWithContext(context.Context, int, string, string) {}

func (c *cluster) clientConfig(path string) map[string]any {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	return map[string]any{"url": c.server.URL + path, "caBundle": base64.StdEncoding.EncodeToString(authority)}
}

// setWebhooks installs our webhook configurations as shipped, or removes them, and waits until that is in force.
func (c *cluster) setWebhooks(ctx context.Context, installed bool) error {
	manifests, err := os.ReadFile(filepath.Join(c.root, "config", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		configuration := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &configuration.Object); err != nil {
			return err
		}
		hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
		for _, hook := range hooks {
			path, _, _ := unstructured.NestedString(hook.(map[string]any), "clientConfig", "service", "path")
			hook.(map[string]any)["clientConfig"] = c.clientConfig(path)
		}
		if err := unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks"); err != nil {
			return err
		}
		resource := c.client.Resource(configuration.GroupVersionKind().GroupVersion().WithResource(strings.ToLower(configuration.GetKind()) + "s"))
		if installed {
			_, err = resource.Apply(ctx, configuration.GetName(), configuration, metav1.ApplyOptions{FieldManager: "bench", Force: true})
		} else {
			err = resource.Delete(ctx, configuration.GetName(), metav1.DeleteOptions{})
		}
		if err != nil {
			return err
		}
	}
	return c.await(ctx, installed)
}

// await waits until an image that only the webhook refuses is refused in v1, or accepted, and v1alpha1 is served.
func (c *cluster) await(ctx context.Context, refused bool) error {
	last := error(nil)
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		bad := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "app.example.com/v1", "kind": "WebApp",
			"metadata": map[string]any{"name": "probe"}, "spec": map[string]any{"image": "Web App"}}}
		_, last = c.client.Resource(webApps.WithVersion("v1")).Namespace("default").Create(ctx, bad, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		asWanted := last == nil
		if refused {
			asWanted = apierrors.IsInvalid(last)
		}
		if !asWanted {
			return false, nil
		}
		_, last = c.client.Resource(webApps.WithVersion("v1alpha1")).Namespace("default").List(ctx, metav1.ListOptions{})
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("webhooks installed is not %t in time: %w: %w", refused, err, last)
	}
	return nil
}
