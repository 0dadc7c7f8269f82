package webapp

import (
	"context"
	"errors"
	"flag"
	"os"
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

	appv1 "github.com/example/workload-operator/apis/app/v1"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

var (
	kills   = flag.Int("kills", 5, "how often the operator is killed")
	workers = flag.Int("workers", 3, "how many clients write at the same time, each to WebApps of its own")
	names   = flag.Int("names", 4, "WebApps of each client")
	seed    = flag.Int64("seed", 0, "what the choices are drawn from; 0 takes the time")
)

// patience is how long a write is tried again, and how long the end may take. The garbage collector looks for new kinds
// every 30 seconds only.
const patience = 3 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(m, controlplane.Options{}))
}

// arena is a control plane with the operator on it, and a namespace.
type arena struct {
	*gomega.WithT
	t         *testing.T
	plane     *controlplane.Plane
	operator  *operator.Operator
	client    client.Client
	namespace string
}

func open(t *testing.T) *arena {
	t.Helper()
	a := &arena{WithT: gomega.NewWithT(t), t: t, plane: controlplane.Attach(t)}
	var err error
	// A killed holder of the Lease keeps everybody waiting for 15 seconds, in which nothing could go wrong.
	a.operator, err = operator.New(operator.Options{Args: []string{"--leader-elect=false"}})
	a.Expect(err).NotTo(gomega.HaveOccurred())
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return a.operator.On(ctx, a.plane) }, a.operator.Install, a.operator.Start,
	} {
		a.Expect(step(t.Context())).To(gomega.Succeed())
	}
	t.Cleanup(func() {
		if err := a.operator.Stop(); err != nil {
			t.Errorf("stopping the operator: %v", err)
		}
	})
	scheme := runtime.NewScheme()
	a.Expect(errors.Join(clientgoscheme.AddToScheme(scheme), appv1.AddToScheme(scheme))).To(gomega.Succeed())
	config := a.plane.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	a.client, err = client.New(config, client.Options{Scheme: scheme})
	a.Expect(err).NotTo(gomega.HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "chaos-"}}
	a.Expect(a.client.Create(t.Context(), namespace)).To(gomega.Succeed())
	a.namespace = namespace.Name
	return a
}
