package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const patience = 40 * time.Second

// TestMain lets the test binary be the command line when it is called by one of its names, so that commands in the tests run what
// is being tested.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "workloadctl", pluginName:
		os.Exit(execute(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(controlplane.Main(m, controlplane.Options{}))
}

// cluster is a plane with the operator on it.
type cluster struct {
	*gomega.WithT
	t        *testing.T
	plane    *controlplane.Plane
	operator *operator.Operator
	client   client.Client
	path     string // a folder with kubectl, workloadctl and the plugin
}

// startCluster installs the operator and runs its manager.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{WithT: gomega.NewWithT(t), t: t, plane: controlplane.Attach(t)}
	c.SetDefaultEventuallyTimeout(patience)
	c.SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, appv1.AddToScheme, batchv1.AddToScheme)
	c.Expect(builder.AddToScheme(scheme)).To(gomega.Succeed())
	restConfig := c.plane.RESTConfig()
	restConfig.WarningHandler, restConfig.WarningHandlerWithContext = rest.NoWarnings{}, nil
	var err error
	c.client, err = client.New(restConfig, client.Options{Scheme: scheme})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.linkCommands()

	// Migrations are for the command line.
	c.operator, err = operator.New(operator.Options{Args: []string{"--auto-migrate=false"}})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(c.operator.On(t.Context(), c.plane)).To(gomega.Succeed())
	c.Expect(c.operator.Install(t.Context())).To(gomega.Succeed())
	c.Expect(c.operator.Start(t.Context())).To(gomega.Succeed())
	t.Cleanup(c.leave)
	c.deploy()
	return c
}

// deploy creates the Deployment that is shipped. Its Pods are fake, and stand for the manager that runs beside the plane.
func (c *cluster) deploy() {
	c.t.Helper()
	rendered := c.kubectl("kustomize", filepath.Join(root(c.t), "config", "default"))
	for document := range strings.SplitSeq(rendered, "\n---\n") {
		if strings.Contains(document, "\nkind: Deployment\n") {
			c.apply(document)
		}
	}
	c.Eventually(func() string {
		return c.kubectl("-n", operator.Namespace, "get", "deployments", "-o", "jsonpath={.items[*].status.readyReplicas}")
	}).Should(gomega.Equal("2"))
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// leave stops the operator. On a plane of its own it removes only what the next test would stumble over, which is much quicker.
func (c *cluster) leave() {
	ctx := context.WithoutCancel(c.t.Context())
	c.Expect(c.operator.Stop()).To(gomega.Succeed())
	if c.plane.Dir() == "" {
		c.Expect(c.operator.Uninstall(ctx)).To(gomega.Succeed())
		return
	}
	for _, line := range []string{
		"kubectl delete validatingwebhookconfigurations,mutatingwebhookconfigurations,validatingadmissionpolicybindings --all",
		"kubectl delete crd webapps.app.example.com podsets.batch.example.com",
		"kubectl delete clusterrole,clusterrolebinding definitions --ignore-not-found",
	} {
		command := exec.CommandContext(ctx, "bash", "-c", line)
		command.Env = c.environment()
		out, err := command.CombinedOutput()
		c.Expect(err).NotTo(gomega.HaveOccurred(), string(out))
	}
}

// linkCommands makes the folder for PATH.
func (c *cluster) linkCommands() {
	c.t.Helper()
	c.path = c.t.TempDir()
	self, err := os.Executable()
	c.Expect(err).NotTo(gomega.HaveOccurred())
	for name, target := range map[string]string{"workloadctl": self, pluginName: self, "kubectl": c.plane.Kubectl()} {
		c.Expect(os.Symlink(target, filepath.Join(c.path, name))).To(gomega.Succeed())
	}
}

func (c *cluster) environment() []string {
	return append(os.Environ(), "PATH="+c.path+string(os.PathListSeparator)+os.Getenv("PATH"), "KUBECONFIG="+c.plane.Kubeconfig())
}

// sh runs a line as a user would paste it.
func (c *cluster) sh(line string) outcome {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), "bash", "-c", line)
	command.Env, command.Dir = c.environment(), root(c.t)
	var stdout, stderr strings.Builder
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	got := outcome{stdout: stdout.String(), stderr: stderr.String()}
	if exit, failed := errors.AsType[*exec.ExitError](err); failed {
		got.code = exit.ExitCode()
	} else {
		c.Expect(err).NotTo(gomega.HaveOccurred())
	}
	c.t.Logf("$ %s\n%s%s(%d)", line, got.stdout, got.stderr, got.code)
	return got
}

func (c *cluster) kubectl(args ...string) string {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), c.plane.Kubectl(), args...)
	command.Env = c.environment()
	out, err := command.Output()
	c.Expect(err).NotTo(gomega.HaveOccurred(), "kubectl %v", args)
	return string(out)
}

func (c *cluster) apply(manifest string) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), c.plane.Kubectl(), "apply", "--server-side", "-f", "-")
	command.Env, command.Stdin = c.environment(), strings.NewReader(manifest)
	out, err := command.CombinedOutput()
	c.Expect(err).NotTo(gomega.HaveOccurred(), string(out))
}

// run runs the command line in this process.
func (c *cluster) run(args ...string) outcome {
	c.t.Helper()
	got := runWith("", append(args, "--kubeconfig", c.plane.Kubeconfig())...)
	c.t.Logf("workloadctl %s: %d\n%s%s", strings.Join(args, " "), got.code, got.stdout, got.stderr)
	return got
}

// check returns what the command finds.
func (c *cluster) check(args ...string) checkup.Report {
	c.t.Helper()
	got := c.run(append([]string{"check", "-o", "json"}, args...)...)
	var report checkup.Report
	c.Expect(json.Unmarshal([]byte(got.stdout), &report)).To(gomega.Succeed(), got.stderr)
	c.Expect(got.code == exitOK).To(gomega.Equal(len(report.Findings) == 0))
	c.Expect(report.Unseen).To(gomega.BeEmpty())
	return report
}

func ids(report checkup.Report) []string {
	var all []string
	for _, f := range report.Findings {
		all = append(all, f.ID)
	}
	return all
}

// mend runs the printed fixes, one after the other, until a look finds nothing.
func (c *cluster) mend(report checkup.Report) {
	c.t.Helper()
	for _, f := range report.Findings {
		c.Expect(c.sh(f.Fix).code).To(gomega.Equal(exitOK), f.Fix)
		if got := c.run("check"); got.code == exitOK {
			return
		}
	}
	c.Expect(c.run("check", "--wait=30s").code).To(gomega.Equal(exitOK), "the fixes do not mend it")
}
