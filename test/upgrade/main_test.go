package upgrade

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/etcd"
	"github.com/example/workload-operator/test/operator"
)

var (
	objects = flag.Int("objects", 3, "objects of each kind and version on the road")
	dwell   = flag.Duration("dwell", 500*time.Millisecond, "how long clients read and write at each step")
	beat    = flag.Duration("beat", 250*time.Millisecond, "pause of each of the clients, six in a version, between two requests")
	kills   = flag.Int("kills", 1, "how often etcd and kube-apiserver are each killed during a migration")
	quiet   = flag.Int("quiet", 5, "objects of each kind that run while the operator is upgraded")
)

const (
	patience = time.Minute
	interval = 100 * time.Millisecond
	// The garbage collector looks for new kinds every 30 seconds.
	collectorPatience = 2 * time.Minute

	// settle is enough for one API server.
	settle = 200 * time.Millisecond

	webApps = "webapps.app.example.com"
	podSets = "podsets.batch.example.com"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the clients of these tests; the manager logs to a file of its own
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{ReadyTimeout: 3 * time.Minute}))
}

// runner stops the operator before the plane goes.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if theOperator == nil {
		return code
	}
	if err := theOperator.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the operator:", err)
		return max(code, 1)
	}
	return code
}

// namespaces are where the objects of a test are.
var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// theOperator is the one of this package. Its CustomResourceDefinitions are at the step where the test before left them.
var (
	theOperator *operator.Operator
	launched    bool
)

// road is what a test works with.
type road struct {
	*gomega.WithT
	t         *testing.T
	whole     context.Context // of the test that entered, of which t may be a part
	plane     *controlplane.Plane
	operator  *operator.Operator
	dynamic   dynamic.Interface
	client    client.Client
	etcd      *etcd.Client
	namespace string
}

// enter returns the road with a namespace of its own for the test. The definitions are at the step; the operator is installed.
func enter(t *testing.T, step config.Step) *road {
	t.Helper()
	r := connect(t)
	if theOperator == nil {
		o, err := operator.New(operator.Options{
			// The suite takes every step itself.
			Without: func(o *unstructured.Unstructured) bool { return o.GetKind() == "CustomResourceDefinition" },
			Args:    []string{"--auto-migrate=false"},
		})
		r.Expect(err).NotTo(gomega.HaveOccurred())
		r.Expect(o.On(t.Context(), r.plane)).To(gomega.Succeed())
		r.must("crds", "--step", "R1", "--apply")
		r.Expect(o.Install(t.Context())).To(gomega.Succeed())
		theOperator = o
	}
	r.operator = theOperator
	namespace := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	namespace.SetGenerateName("upgrade-")
	r.Expect(r.client.Create(t.Context(), namespace)).To(gomega.Succeed())
	r.namespace = namespace.GetName()
	t.Cleanup(func() { r.leave(context.WithoutCancel(t.Context())) })
	if step == config.StepR1 {
		r.backToR1()
		return r
	}
	r.step(step)
	r.start()
	return r
}

// leave deletes the namespace. Who needs a cluster without objects waits for it.
func (r *road) leave(ctx context.Context) {
	if err := r.dynamic.Resource(namespaces).Delete(ctx, r.namespace, metav1.DeleteOptions{}); err != nil && !gone(err) {
		r.t.Errorf("deleting the namespace: %v", err)
	}
}

// backToR1 ends the operator and takes the definitions back to the first step, wherever they are, once the objects of other tests
// are gone. What status.storedVersions says may be forgotten then.
func (r *road) backToR1() {
	r.t.Helper()
	if r.steps()[0] == config.StepR1 {
		return
	}
	r.Eventually(r.everywhere, collectorPatience, interval).Should(gomega.BeEmpty(), "the namespaces of other tests are deleted")
	if r.running() {
		r.stop()
	}
	r.step(config.StepR2)
	for _, crd := range r.definitions() {
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["v1alpha1"]}}`))
		r.Expect(r.client.Status().Patch(r.t.Context(), crd, patch)).To(gomega.Succeed())
	}
	r.step(config.StepR1)
}

func connect(t *testing.T) *road {
	t.Helper()
	plane := controlplane.Attach(t)
	restConfig := plane.RESTConfig()
	restConfig.WarningHandlerWithContext, restConfig.WarningHandler = nil, rest.NoWarnings{}
	d, err := dynamic.NewForConfig(restConfig)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	storage, err := etcd.Open(plane)
	if err != nil {
		t.Fatal(err)
	}
	return &road{WithT: gomega.NewWithT(t), t: t, whole: t.Context(), plane: plane, dynamic: d, client: c, etcd: storage}
}

// start starts the manager unless it runs, and waits until it is ready.
func (r *road) start() {
	r.t.Helper()
	if !r.running() {
		r.launch()
	}
	r.Expect(r.operator.WaitReady(r.t.Context())).To(gomega.Succeed())
}

// launch starts the manager, which may have to wait for a step.
func (r *road) launch() {
	r.t.Helper()
	r.Expect(r.operator.Launch()).To(gomega.Succeed())
	launched = true
}

func (r *road) running() bool {
	if !launched {
		return false
	}
	select {
	case <-r.operator.Done():
		return false
	default:
		return true
	}
}

func (r *road) stop() {
	r.t.Helper()
	r.Expect(r.operator.Stop()).To(gomega.Succeed())
}

// ctl runs workloadctl and returns what it printed. The error is what it printed to standard error.
func (r *road) ctl(args ...string) (string, error) {
	root, err := controlplane.FindRoot()
	if err != nil {
		return "", err
	}
	return r.run(exec.CommandContext(r.t.Context(), filepath.Join(root, "bin", "workloadctl"), args...))
}

func (r *road) kubectl(args ...string) (string, error) {
	return r.run(exec.CommandContext(r.t.Context(), r.plane.Kubectl(), args...))
}

func (r *road) run(command *exec.Cmd) (string, error) {
	command.Env = append(os.Environ(), "KUBECONFIG="+r.plane.Kubeconfig())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), errors.New(strings.TrimSpace(stderr.String() + err.Error()))
	}
	return stdout.String(), nil
}

// must runs workloadctl and ends the test if it fails.
func (r *road) must(args ...string) string {
	r.t.Helper()
	out, err := r.ctl(args...)
	if err != nil {
		r.t.Fatalf("workloadctl %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// step takes a step and waits until the API server serves it.
func (r *road) step(step config.Step) {
	r.t.Helper()
	r.must("crds", "--step", string(step), "--apply")
	r.Eventually(r.steps, patience, interval).Should(gomega.HaveEach(step))
}

// refused takes a step that must be refused with that text, and changes nothing.
func (r *road) refused(step config.Step, text string) {
	r.t.Helper()
	before := r.definitions()
	_, err := r.ctl("crds", "--step", string(step), "--apply")
	r.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(text)))
	for name, crd := range r.definitions() {
		r.Expect(crd.ResourceVersion).To(gomega.Equal(before[name].ResourceVersion), "%s was written", name)
	}
}

func (r *road) definitions() map[string]*apiextensionsv1.CustomResourceDefinition {
	r.t.Helper()
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range []string{webApps, podSets} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		r.Expect(r.client.Get(r.t.Context(), client.ObjectKey{Name: name}, crd)).To(gomega.Succeed())
		found[name] = crd
	}
	return found
}

func (r *road) steps() []config.Step {
	var steps []config.Step
	for _, crd := range r.definitions() {
		steps = append(steps, config.StepOf(crd))
	}
	return steps
}

// storedVersions of a definition's status.
func (r *road) storedVersions(name string) []string {
	return r.definitions()[name].Status.StoredVersions
}

// engine is the one that workloadctl migrate uses, in a hurry.
func (r *road) engine() *migration.Engine {
	r.t.Helper()
	engine, err := migration.New(r.plane.RESTConfig(), migration.Options{QPS: 2000, SettleDelay: settle, Poll: interval})
	r.Expect(err).NotTo(gomega.HaveOccurred())
	return engine
}

// migrate runs the migration of both kinds.
func (r *road) migrate() {
	r.t.Helper()
	r.bothKinds((*migration.Engine).Run)
}

// rollback makes v1alpha1 the storage version again, and rewrites every object.
func (r *road) rollback() {
	r.t.Helper()
	r.bothKinds(func(e *migration.Engine, ctx context.Context, name string) (*migration.Report, error) {
		return e.Rollback(ctx, name, older)
	})
}

func (r *road) bothKinds(call func(*migration.Engine, context.Context, string) (*migration.Report, error)) {
	r.t.Helper()
	engine := r.engine()
	var group errgroup.Group
	for _, name := range []string{webApps, podSets} {
		group.Go(func() error {
			report, err := call(engine, r.t.Context(), name)
			if err == nil && !report.Verified {
				err = fmt.Errorf("not verified: %+v", report)
			}
			return err
		})
	}
	r.Expect(group.Wait()).To(gomega.Succeed())
}
