package podset

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// The limits of both clients, and how many objects each controller works on at the same time.
const (
	qps         = 200
	burst       = 400
	concurrency = 5
)

var (
	limits = []string{fmt.Sprintf("--kube-api-qps=%d", qps), fmt.Sprintf("--kube-api-burst=%d", burst)}

	// Neither controller has to hold a lease, which an overloaded machine may lose.
	managerArgs = append([]string{"--leader-elect=false", fmt.Sprintf("--concurrency=%d", concurrency)}, limits...)
	peerArgs    = append([]string{fmt.Sprintf("--concurrent-replicaset-syncs=%d", concurrency)}, limits...)
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{
		Nodes:     12,
		ExtraArgs: map[controlplane.Part][]string{controlplane.ControllerManager: peerArgs},
	}))
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

// shared is what all benchmarks of the package use.
var shared struct {
	once     sync.Once
	operator *operator.Operator
	err      error
}

// rig is a plane with the operator on it, and clients without a limit.
type rig struct {
	b        *testing.B
	plane    *controlplane.Plane
	operator *operator.Operator
	client   client.Client
	core     kubernetes.Interface
}

func newRig(b *testing.B) *rig {
	b.Helper()
	plane := controlplane.Attach(b)
	shared.once.Do(func() { shared.operator, shared.err = startOperator(b.Context(), plane) })
	if shared.err != nil {
		b.Fatalf("starting the operator: %v", shared.err)
	}
	r := &rig{b: b, plane: plane, operator: shared.operator}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	config := plane.RESTConfig()
	config.WarningHandlerWithContext = nil
	var err error
	r.client, err = client.New(config, client.Options{Scheme: scheme})
	r.check(err)
	config.ContentType = runtime.ContentTypeProtobuf
	r.core, err = kubernetes.NewForConfig(config)
	r.check(err)
	return r
}

func startOperator(ctx context.Context, plane *controlplane.Plane) (*operator.Operator, error) {
	root, err := controlplane.FindRoot()
	if err != nil {
		return nil, err
	}
	// The numbers must be those of the code as it is now.
	manager := filepath.Join(plane.Scratch(), "manager-bench")
	build := exec.CommandContext(ctx, "go", "build", "-o", manager, "./cmd/manager")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the manager: %w: %s", err, out)
	}
	o, err := operator.New(operator.Options{Root: root, Manager: manager, Args: managerArgs})
	if err != nil {
		return nil, err
	}
	if err := o.On(ctx, plane); err != nil {
		return nil, err
	}
	if err := o.Install(ctx); err != nil {
		return nil, err
	}
	return o, o.Start(ctx)
}

func (r *rig) check(err error) {
	r.b.Helper()
	if err != nil {
		r.b.Fatal(err)
	}
}
