package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
)

var (
	definitionsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	webAppsResource     = schema.GroupVersionResource{Group: "app.example.com", Version: "v1", Resource: "webapps"}
	policiesResource    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindingsResource    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
	webhooksResource    = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
)

// ctl is the command line against a cluster that has our definitions and a converter, but no operator.
type ctl struct {
	*gomega.WithT
	t      *testing.T
	plane  *controlplane.Plane
	client dynamic.Interface
}

func startCtl(t *testing.T) *ctl {
	t.Helper()
	plane := controlplane.Attach(t)
	c := &ctl{WithT: gomega.NewWithT(t), t: t, plane: plane}
	config := plane.RESTConfig()
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	var err error
	c.client, err = dynamic.NewForConfig(config)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	t.Cleanup(c.clean)
	c.install()
	return c
}

// clean leaves the plane as it was found, for the next test.
func (c *ctl) clean() {
	ctx := context.WithoutCancel(c.t.Context())
	for _, left := range []struct {
		resource schema.GroupVersionResource
		name     string
	}{{policiesResource, "frozen"}, {webhooksResource, "somebody"}, {definitionsResource, "webapps.app.example.com"}, {definitionsResource, "podsets.batch.example.com"}} {
		resource := c.client.Resource(left.resource)
		c.Expect(client.IgnoreNotFound(resource.Delete(ctx, left.name, metav1.DeleteOptions{}))).To(gomega.Succeed())
		c.Eventually(func() error {
			_, err := resource.Get(ctx, left.name, metav1.GetOptions{})
			return err
		}).WithTimeout(patience).ShouldNot(gomega.Succeed())
	}
}

// install makes definitions of step R2.
func (c *ctl) install() {
	c.t.Helper()
	server := httptest.NewTLSServer(conversion.NewHandler(conversion.HandlerOptions{}))
	c.t.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	crds, err := config.CRDsAt(config.StepR2)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	for _, crd := range crds {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		delete(content, "status")
		clientConfig := map[string]any{"url": server.URL + "/convert", "caBundle": base64.StdEncoding.EncodeToString(authority)}
		c.Expect(unstructured.SetNestedMap(content, clientConfig, "spec", "conversion", "webhook", "clientConfig")).To(gomega.Succeed())
		c.create(definitionsResource, "", content)
	}
	for i := range 10 {
		c.Eventually(func() error {
			_, err := c.client.Resource(webAppsResource).Namespace("default").Create(c.t.Context(), webAppNamed(fmt.Sprintf("app-%d", i)), metav1.CreateOptions{})
			return err
		}).WithTimeout(30 * time.Second).Should(gomega.Succeed())
	}
}

func webAppNamed(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": map[string]any{"name": name}, "spec": map[string]any{"image": "web:1", "args": []any{"-v"}},
	}}
}

func (c *ctl) create(resource schema.GroupVersionResource, namespace string, content map[string]any) {
	c.t.Helper()
	_, err := c.client.Resource(resource).Namespace(namespace).Create(c.t.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
}

func (c *ctl) run(args ...string) outcome {
	c.t.Helper()
	got := runWith("", append(args, "--kubeconfig", c.plane.Kubeconfig())...)
	c.t.Logf("workloadctl %s: %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	return got
}

// must runs a command that has to be done.
func (c *ctl) must(args ...string) outcome {
	c.t.Helper()
	got := c.run(args...)
	c.Expect(got.code).To(gomega.Equal(exitOK))
	return got
}

// freeze refuses updates of one object, until the returned function is called.
func (c *ctl) freeze(name string) (thaw func()) {
	c.t.Helper()
	c.create(policiesResource, "", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": "frozen"},
		"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{"app.example.com"}, "apiVersions": []any{"*"}, "operations": []any{"UPDATE"}, "resources": []any{"webapps"},
			}}},
			"validations": []any{map[string]any{"expression": "object.metadata.name != '" + name + "'", "message": "this object is frozen"}},
		},
	})
	c.create(bindingsResource, "", map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": "frozen"},
		"spec": map[string]any{"policyName": "frozen", "validationActions": []any{"Deny"}},
	})
	touch := func() error {
		_, err := c.client.Resource(webAppsResource).Namespace("default").Patch(c.t.Context(), name, types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	c.Eventually(touch).WithTimeout(30 * time.Second).Should(gomega.MatchError(gomega.ContainSubstring("frozen")))
	return func() {
		c.Expect(c.client.Resource(bindingsResource).Delete(c.t.Context(), "frozen", metav1.DeleteOptions{})).To(gomega.Succeed())
		c.Eventually(touch).WithTimeout(30 * time.Second).Should(gomega.Succeed())
	}
}

func (c *ctl) definition() *unstructured.Unstructured {
	c.t.Helper()
	crd, err := c.client.Resource(definitionsResource).Get(c.t.Context(), "webapps.app.example.com", metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return crd
}

// M-03, M-08 and O-10 by the command line: exit codes, what is printed, and the whole way out.
func TestMigrateCommands(t *testing.T) {
	c := startCtl(t)
	c.must("migrate", "status")
	c.must("crds", "--step", "R3", "--apply")
	c.Expect(c.run("migrate", "status").code).To(gomega.Equal(exitFailure), "pending")
	c.interrupted()
	thaw := c.freeze("app-7")

	plan := c.run("migrate", "plan", "webapp")
	c.Expect(plan.code).To(gomega.Equal(exitFailure))
	c.Expect(plan.stdout).To(gomega.ContainSubstring("default/app-7: "))
	c.Expect(plan.stdout).To(gomega.ContainSubstring("this object is frozen"))

	run := c.run("migrate", "run", "-o", "json", "--settle", "500ms", "--qps", "1000")
	c.Expect(run.code).To(gomega.Equal(exitFailure))
	var reports []migration.Report
	c.Expect(json.Unmarshal([]byte(run.stdout), &reports)).To(gomega.Succeed())
	c.Expect(reports[0].Refusals[0].Name).To(gomega.Equal("app-7"))
	c.Expect(reports[0].Rewritten).To(gomega.Equal(9))
	c.Expect(reports[1].Trimmed).To(gomega.BeTrue(), "the other kind is not held up")
	later := c.run("migrate", "status")
	c.Expect(later.code).To(gomega.Equal(exitFailure))
	c.Expect(later.stdout).To(gomega.MatchRegexp(`Incomplete to v1 by workloadctl, 1 refused +objects may be stored in v1alpha1; a migration to v1 rewrites them`))
	c.Expect(later.stdout).To(gomega.MatchRegexp(`\nwebapps.app.example.com: refused by the latest run \(1\):\n  default/app-7: .*this object is frozen\n`))
	refused := c.run("status", "webapp/app-7")
	c.Expect(refused.stdout).To(gomega.MatchRegexp(`\n  was refused by the migration to v1 at .*this object is frozen\n`))
	c.Expect(c.run("status", "webapp/app-6").stdout).NotTo(gomega.ContainSubstring("refused"))
	for line := range strings.Lines(run.stderr) {
		c.Expect(json.Valid([]byte(line))).To(gomega.BeTrue(), line)
	}
	thaw()
	c.Expect(c.must("migrate", "run", "--settle", "500ms", "--qps", "1000").stdout).To(gomega.ContainSubstring("migrated in"))
	c.must("migrate", "status")
	c.must("migrate", "verify", "--settle", "500ms")
	c.must("migrate", "rollback", "wa", "--settle", "500ms")
	stored, _, err := unstructured.NestedStringSlice(c.definition().Object, "status", "storedVersions")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(stored).To(gomega.Equal([]string{"v1alpha1"}))
	c.leave()
}

// interrupted: Ctrl-C while a run waits says so, and that nothing is lost; time that is up is a finding.
func (c *ctl) interrupted() {
	c.t.Helper()
	self, err := os.Executable()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	tool := filepath.Join(c.t.TempDir(), "workloadctl")
	c.Expect(os.Symlink(self, tool)).To(gomega.Succeed())
	command := exec.CommandContext(c.t.Context(), tool, "migrate", "run", "--settle=1h", "--kubeconfig", c.plane.Kubeconfig())
	stderr, err := command.StderrPipe()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(command.Start()).To(gomega.Succeed())
	lines := bufio.NewScanner(stderr)
	c.Expect(lines.Scan()).To(gomega.BeTrue())
	c.Expect(lines.Text()).To(gomega.ContainSubstring(`"waiting":"the latest change of the definition to be 1h0m0s old`))
	c.Expect(command.Process.Signal(os.Interrupt)).To(gomega.Succeed())
	last := ""
	for lines.Scan() {
		last = lines.Text()
	}
	c.Expect(last).To(gomega.Equal("Error: interrupted; the same command goes on from here"))
	c.Expect(command.Wait()).NotTo(gomega.Succeed())
	c.Expect(command.ProcessState.ExitCode()).To(gomega.Equal(exitUsage))

	late := c.run("migrate", "run", "--settle=1h", "--timeout=2500ms")
	c.Expect(late.code).To(gomega.Equal(exitFailure))
	c.Expect(late.stderr).To(gomega.MatchRegexp(`Error: not done in time, .*waiting for the latest change .* left; the same command goes on from here, and workloadctl check .*\n$`))
}

// leave uninstalls from where the definitions stand: one stores v1alpha1, the other v1.
func (c *ctl) leave() {
	c.t.Helper()
	for _, name := range []string{"elsewhere-workload-operator", "somebody"} {
		webhook := map[string]string{"elsewhere-workload-operator": anOperatorsWebhook, "somebody": "somebody.example.net"}[name]
		c.create(webhooksResource, "", map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": map[string]any{"name": name},
			"webhooks": []any{map[string]any{
				"name": webhook, "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "failurePolicy": "Ignore",
				"clientConfig": map[string]any{"service": map[string]any{"namespace": "nowhere", "name": "nothing"}},
			}},
		})
	}
	c.Expect(c.run("uninstall").code).To(gomega.Equal(exitUsage), "nobody can be asked")
	dry := c.must("uninstall", "--dry-run").stdout
	c.Expect(dry).To(gomega.ContainSubstring("- store v1 (step R3)\n- migrate every object to v1\n- serve v1 alone (step R4)\n"))
	c.Expect(dry).To(gomega.ContainSubstring("ValidatingWebhookConfiguration elsewhere-workload-operator"))
	c.Expect(dry).NotTo(gomega.ContainSubstring("somebody"))
	c.must("uninstall", "--yes", "--settle", "500ms", "--qps", "1000")
	c.Expect(c.must("uninstall", "--yes").stdout).To(gomega.ContainSubstring("Nothing is left to do"))

	crd := c.definition()
	strategy, _, err := unstructured.NestedString(crd.Object, "spec", "conversion", "strategy")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(strategy).To(gomega.Equal("None"))
	c.Eventually(func(ctx context.Context) (int, error) {
		list, err := c.client.Resource(webAppsResource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		return len(list.Items), nil
	}).WithContext(c.t.Context()).WithTimeout(30 * time.Second).Should(gomega.Equal(10))
	left, err := c.client.Resource(webhooksResource).List(c.t.Context(), metav1.ListOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(left.Items).To(gomega.HaveLen(1))
}
