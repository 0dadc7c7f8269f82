package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const (
	patience = 30 * time.Second
	interval = 100 * time.Millisecond

	// The garbage collector looks for new kinds every 30 seconds, so it may notice late that an owner of ours is gone.
	collectorPatience = 2 * time.Minute
)

// The four forms in which an object can be written.
const (
	webAppV1       = "webapps.v1.app.example.com"
	webAppV1alpha1 = "webapps.v1alpha1.app.example.com"
	podSetV1       = "podsets.v1.batch.example.com"
	podSetV1alpha1 = "podsets.v1alpha1.batch.example.com"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the clients of these tests; the manager logs to a file of its own
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{}))
}

// runner stops the operator before the plane goes.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if running.operator == nil {
		return code
	}
	if err := running.operator.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the operator:", err)
		return max(code, 1)
	}
	return code
}

// running is the operator that all tests of the package share.
var running struct {
	once     sync.Once
	operator *operator.Operator
	err      error
}

// cluster is what a test works with: the operator, and a namespace of its own.
type cluster struct {
	*gomega.WithT
	t         *testing.T
	plane     *controlplane.Plane
	operator  *operator.Operator
	client    client.Client
	namespace string
}

func connect(t *testing.T) *cluster {
	t.Helper()
	plane := controlplane.Attach(t)
	running.once.Do(func() { running.operator, running.err = startOperator(plane) })
	if running.err != nil {
		t.Fatalf("starting the operator: %v", running.err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme), appv1.AddToScheme(scheme), batchv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	// Warnings are part of what the tests look at through kubectl; here they would only be noise.
	config := plane.RESTConfig()
	config.WarningHandlerWithContext = nil
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-"}}
	if err := c.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), namespace); err != nil {
			t.Errorf("deleting the namespace: %v", err)
		}
	})
	return &cluster{
		WithT: gomega.NewWithT(t), t: t, plane: plane, operator: running.operator, client: c, namespace: namespace.Name,
	}
}

// startOperator outlives the test that needs it first, so it has no use for that test's context.
func startOperator(plane *controlplane.Plane) (*operator.Operator, error) {
	ctx := context.Background()
	o, err := operator.New(operator.Options{})
	if err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return o.On(ctx, plane) }, o.Install, o.Start,
	} {
		if err := step(ctx); err != nil {
			return o, err
		}
	}
	return o, nil
}

// kubectl runs a command in the test's namespace and returns what it printed. The error is what it printed to standard error.
func (c *cluster) kubectl(stdin string, args ...string) (string, error) {
	command := exec.CommandContext(c.t.Context(), c.plane.Kubectl(), append([]string{"--namespace", c.namespace}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.plane.Kubeconfig())
	command.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return stdout.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.String(), nil
}

// must runs kubectl and ends the test if it fails.
func (c *cluster) must(stdin string, args ...string) string {
	c.t.Helper()
	out, err := c.kubectl(stdin, args...)
	if err != nil {
		c.t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// field reads one field of an object.
func (c *cluster) field(resource, name, path string) string {
	c.t.Helper()
	return c.must("", "get", resource, name, "-o", "jsonpath={"+path+"}")
}

// ready waits until an object is Ready for its current generation.
func (c *cluster) ready(resource, name string) {
	c.t.Helper()
	c.must("", "wait", "--for=condition=Ready", "--timeout="+patience.String(), resource+"/"+name)
}

// list reads objects of a core kind in the test's namespace.
func (c *cluster) list(list client.ObjectList, options ...client.ListOption) error {
	return c.client.List(c.t.Context(), list, append(options, client.InNamespace(c.namespace))...)
}

// pods are the Pods with a label that are not being deleted.
func (c *cluster) pods(key, value string) map[string]corev1.Pod {
	c.t.Helper()
	var list corev1.PodList
	if err := c.list(&list, client.MatchingLabels{key: value}); err != nil {
		c.t.Fatal(err)
	}
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		if pod.DeletionTimestamp == nil {
			pods[pod.Name] = pod
		}
	}
	return pods
}

// unstructuredOf is an object of one version, as the API server returns it.
func (c *cluster) unstructuredOf(apiVersion, kind, name string) *unstructured.Unstructured {
	c.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion(apiVersion)
	object.SetKind(kind)
	if err := c.client.Get(c.t.Context(), client.ObjectKey{Namespace: c.namespace, Name: name}, object); err != nil {
		c.t.Fatal(err)
	}
	return object
}
