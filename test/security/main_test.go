package security

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const (
	patience = time.Minute
	interval = 100 * time.Millisecond

	account  = "workload-operator-controller-manager"
	identity = "system:serviceaccount:" + operator.Namespace + ":" + account
)

var managerPath = flag.String("manager", "", "path of the manager's binary; empty means bin/manager")

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{}))
}

// runner stops the operator before the plane goes.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if shared.operator == nil {
		return code
	}
	if err := shared.operator.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the operator:", err)
		return max(code, 1)
	}
	return code
}

// shared is the operator that all tests of the package use.
var shared struct {
	once     sync.Once
	operator *operator.Operator
	metrics  string
	err      error
}

// cluster is what a test works with.
type cluster struct {
	*gomega.WithT
	t         *testing.T
	plane     *controlplane.Plane
	operator  *operator.Operator
	admin     client.Client
	namespace string
}

func connect(t *testing.T) *cluster {
	t.Helper()
	plane := controlplane.Attach(t)
	shared.once.Do(func() { shared.err = start(plane) })
	if shared.err != nil {
		t.Fatalf("starting the operator: %v", shared.err)
	}
	c := &cluster{WithT: gomega.NewWithT(t), t: t, plane: plane, operator: shared.operator}
	c.admin = c.as(plane.RESTConfig())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "security-"}}
	c.Expect(c.admin.Create(t.Context(), namespace)).To(gomega.Succeed())
	c.namespace = namespace.Name
	return c
}

// start outlives the test that needs it first, so it has no use for that test's context.
func start(plane *controlplane.Plane) error {
	ctx := context.Background()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	shared.metrics = listener.Addr().String()
	_ = listener.Close()
	o, err := operator.New(operator.Options{Manager: *managerPath, Args: []string{"--metrics-bind-address=" + shared.metrics, "--zap-log-level=5"}})
	if err != nil {
		return err
	}
	shared.operator = o
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return o.On(ctx, plane) }, o.Install, o.Start,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// as is a client with another configuration.
func (c *cluster) as(config *rest.Config) client.Client {
	c.t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		c.t.Fatal(err)
	}
	config.WarningHandlerWithContext = nil
	config.WarningHandler = rest.NoWarnings{}
	built, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		c.t.Fatal(err)
	}
	return built
}

// user is a client that acts as somebody else.
func (c *cluster) user(name string) client.Client {
	c.t.Helper()
	config := c.plane.RESTConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: []string{"system:authenticated"}}
	return c.as(config)
}
