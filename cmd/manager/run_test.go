package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
	"github.com/example/workload-operator/webhooks/certs"
)

// asManager makes the test binary behave as the manager, so that signals and exit codes are real.
const asManager = "WORKLOAD_TEST_AS_MANAGER"

func TestMain(m *testing.M) {
	if os.Getenv(asManager) != "" {
		main()
	}
	os.Exit(tracedPlane(m))
}

const (
	soon     = 30 * time.Second
	interval = 50 * time.Millisecond
)

// running is a manager in a process of its own.
type running struct {
	command *exec.Cmd
	probes  string
	webhook string
	stderr  *output
}

// output collects what a process writes while the test reads it.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

func startManager(t *testing.T, kubeconfig string, args ...string) *running {
	t.Helper()
	at := freeAddresses(t)
	r := &running{probes: at.Probes, webhook: at.Webhook, stderr: &output{}}
	r.command = exec.CommandContext(t.Context(), os.Args[0], append([]string{
		"--kubeconfig=" + kubeconfig, "--health-probe-bind-address=" + at.Probes, "--webhook-bind-address=127.0.0.1",
		fmt.Sprintf("--webhook-port=%d", at.WebhookPort()),
	}, args...)...)
	r.command.Env = append(os.Environ(), asManager+"=1")
	r.command.Stderr = r.stderr
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if r.command.ProcessState == nil {
			_ = r.command.Process.Kill()
			_ = r.command.Wait()
		}
		if t.Failed() {
			t.Log(r.stderr.String())
		}
	})
	return r
}

// readiness is what a probe is answered, without the end of the line.
func (r *running) readiness() string {
	response, err := http.Get("http://" + r.probes + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, strings.TrimSpace(string(body)))
}

func (r *running) accepts() error {
	connection, err := net.DialTimeout("tcp", r.webhook, time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}

func freeAddresses(t *testing.T) operator.Addresses {
	t.Helper()
	at, err := operator.FreeAddresses()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// The life of a manager: it waits for the CustomResourceDefinitions and says so, becomes ready, leads, and when told to stop it
// gives up readiness and the Lease at once while the webhooks are served on.
func TestLife(t *testing.T) {
	g := gomega.NewWithT(t)
	plane := controlplane.Attach(t)
	c, err := certs.NewClient(plane.RESTConfig())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "manager-"}}
	g.Expect(c.Create(t.Context(), namespace)).To(gomega.Succeed())

	m := startManager(t, plane.Kubeconfig(), "--namespace="+namespace.Name, "--metrics-bind-address=0", "--leader-elect", "--shutdown-delay=4s")
	g.Eventually(m.readiness, soon, interval).Should(gomega.And(gomega.HavePrefix("503 "), gomega.ContainSubstring("is not installed: install it with make install")))
	g.Consistently(m.readiness, 3*time.Second, interval).Should(gomega.HavePrefix("503 "), "it waits instead of ending")

	installCRDs(t, c)
	g.Eventually(m.readiness, soon, interval).Should(gomega.Equal("200 ok"))
	holder := func() string {
		lease := &coordinationv1.Lease{}
		key := client.ObjectKey{Namespace: namespace.Name, Name: "workload-operator.example.com"}
		if err := c.Get(t.Context(), key, lease); err != nil || lease.Spec.HolderIdentity == nil {
			return ""
		}
		return *lease.Spec.HolderIdentity
	}
	g.Eventually(holder, soon, interval).ShouldNot(gomega.BeEmpty())

	told := time.Now()
	g.Expect(m.command.Process.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	g.Eventually(m.readiness, time.Second, interval).Should(gomega.Equal("503 not ready: shutting down"))
	g.Eventually(holder, 2*time.Second, interval).Should(gomega.BeEmpty(), "the Lease is handed over at once")
	g.Expect(m.accepts()).To(gomega.Succeed(), "the webhooks are served on")
	g.Expect(m.command.Wait()).To(gomega.Succeed())
	g.Expect(time.Since(told)).To(gomega.And(gomega.BeNumerically(">", 3*time.Second), gomega.BeNumerically("<", soon)), "after the delay")
	g.Expect(m.stderr.String()).NotTo(gomega.ContainSubstring("\nmanager: "))
	g.Expect(m.stderr.String()).NotTo(gomega.ContainSubstring("leader election lost"), "an orderly end is no error")
}

// A manager that is told to stop while it still waits ends well.
func TestStopWhileWaiting(t *testing.T) {
	g := gomega.NewWithT(t)
	m := startManager(t, controlplane.Attach(t).Kubeconfig(), "--namespace=default", "--metrics-bind-address=0", "--shutdown-delay=0s")
	g.Eventually(m.readiness, soon, interval).Should(gomega.ContainSubstring("is not installed"))
	g.Expect(m.command.Process.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	g.Expect(m.command.Wait()).To(gomega.Succeed())
	g.Expect(m.stderr.String()).NotTo(gomega.ContainSubstring("\nmanager: "))
}

// O-05: every object is stored in the older version, and nothing runs that could convert it. One manager starts, becomes ready
// without any cache of our kinds, and then reconciles.
func TestColdStart(t *testing.T) {
	g := gomega.NewWithT(t)
	plane := controlplane.Attach(t)
	c, err := certs.NewClient(plane.RESTConfig())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "cold-"}}
	g.Expect(c.Create(t.Context(), namespace)).To(gomega.Succeed())
	// A Service of this type stands for this machine, and maps no port.
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "hooks"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}}
	g.Expect(c.Create(t.Context(), service)).To(gomega.Succeed())
	port := int(freeAddresses(t).WebhookPort())
	installCRDs(t, c, func(crd *apiextensionsv1.CustomResourceDefinition) {
		webhook := crd.Spec.Conversion.Webhook
		webhook.ClientConfig.CABundle = nil
		webhook.ClientConfig.Service.Namespace, webhook.ClientConfig.Service.Name = namespace.Name, "hooks"
		webhook.ClientConfig.Service.Port = new(int32(port))
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == "v1alpha1"
		}
	})
	for i := range 5 {
		app := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "app.example.com/v1alpha1", "kind": "WebApp",
			"metadata": map[string]any{"namespace": namespace.Name, "name": fmt.Sprintf("app-%d", i)},
			"spec":     map[string]any{"image": map[string]any{"repository": "nginx", "tag": "1.25"}},
		}}
		g.Eventually(func() error { return c.Create(t.Context(), app) }, soon, interval).Should(gomega.Succeed())
	}

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", planeTraces.endpoint)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	m := startManager(t, plane.Kubeconfig(), "--namespace="+namespace.Name, "--metrics-bind-address=0", "--shutdown-delay=0s",
		"--webhook-service=hooks", fmt.Sprintf("--webhook-port=%d", port))
	g.Eventually(m.readiness, soon, interval).Should(gomega.Equal("200 ok"))
	deployments := func() int {
		list := &appsv1.DeploymentList{}
		g.Expect(c.List(t.Context(), list, client.InNamespace(namespace.Name))).To(gomega.Succeed())
		return len(list.Items)
	}
	g.Eventually(deployments, soon, interval).Should(gomega.Equal(5))
	for i := range 5 {
		app := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "app.example.com/v1", "kind": "WebApp"}}
		g.Expect(c.Get(t.Context(), client.ObjectKey{Namespace: namespace.Name, Name: fmt.Sprintf("app-%d", i)}, app)).To(gomega.Succeed())
		g.Expect(app.Object["spec"]).To(gomega.HaveKeyWithValue("image", "nginx:1.25"))
		app.SetAPIVersion("app.example.com/v1alpha1")
		g.Expect(c.Delete(t.Context(), app)).To(gomega.Succeed())
	}
	checkJoined(t)
}

// installCRDs installs the shipped CustomResourceDefinitions until the test ends.
func installCRDs(t *testing.T, c client.Client, mutations ...func(*apiextensionsv1.CustomResourceDefinition)) {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		// O-02, from the start: the API server does not serve such a definition before the bundle is repaired.
		crd.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte("\n")
		for _, mutate := range mutations {
			mutate(crd)
		}
		if err := c.Create(t.Context(), crd); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		for _, crd := range crds {
			if err := c.Delete(ctx, crd); err != nil {
				t.Error(err)
			}
			gomega.NewWithT(t).Eventually(func() error { return c.Get(ctx, client.ObjectKeyFromObject(crd), crd) }, soon, interval).Should(gomega.HaveOccurred())
		}
	})
}
