package reliability

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

var (
	rate        = flag.Int("rate", 30, "requests per second of the load")
	leaves      = flag.Int("leaves", 2, "rotations of the serving certificate")
	authorities = flag.Int("authorities", 1, "rotations of the authority")
	overlap     = flag.Duration("overlap", 4*time.Second, "how long old and new authority overlap; a request that lasts longer can fail")
	restarts    = flag.Int("restarts", 1, "rolling restarts of both replicas")
	handover    = flag.Duration("handover", 10*time.Second, "how long a change of the leader may take; on a machine of its own, two seconds")
	strangers   = flag.Int("strangers", 500, "Pods that are not ours, and half as many Secrets, for the test of memory")
	controls    = flag.Bool("controls", false, "run the negative controls, too: the same without overlap and without delay")
	managerPath = flag.String("manager", "", "path of the manager's binary; empty means bin/manager")
)

const (
	patience = 90 * time.Second
	interval = 50 * time.Millisecond
	// shutdownDelay of the replicas: more than endpoints take to follow at worst.
	shutdownDelay = 6 * time.Second
	leastLag      = 2 * time.Second
	mostLag       = 5 * time.Second
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the clients of these tests; the replicas log to files of their own
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{Parts: controlplane.APIOnly()}))
}

// runner stops the replicas before the plane goes.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if shared.site != nil {
		shared.site.stop()
	}
	return code
}

// shared is the installation that all tests of the package use.
var shared struct {
	once sync.Once
	site *site
	err  error
}

// site is the operator as installed: its manifests in the cluster, its replicas, and what stands between them and the API server.
type site struct {
	plane      *controlplane.Plane
	client     client.Client
	deployment *appsv1.Deployment
	kubeconfig string
	balancer   *balancer
	extra      []string

	replicas []*replica // in the order of their start
	started  int
}

// attach returns the site with two replicas that serve.
func attach(t *testing.T) *site {
	t.Helper()
	plane := controlplane.Attach(t)
	shared.once.Do(func() { shared.site, shared.err = newSite(t, plane) })
	if shared.err != nil {
		t.Fatalf("installing the operator: %v", shared.err)
	}
	s := shared.site
	for len(s.replicas) < 2 {
		s.add(t)
	}
	return s
}

func newSite(t *testing.T, plane *controlplane.Plane) (*site, error) {
	s := &site{plane: plane}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	config := plane.RESTConfig()
	config.WarningHandlerWithContext = nil
	var err error
	if s.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	o, err := operator.New(operator.Options{Manager: *managerPath})
	if err != nil {
		return nil, err
	}
	if err := errors.Join(o.On(t.Context(), plane), o.Install(t.Context())); err != nil {
		return nil, err
	}
	if s.kubeconfig, err = plane.KubeconfigFor(t.Context(), operator.Namespace, "workload-operator-controller-manager"); err != nil {
		return nil, err
	}
	if s.deployment, err = shippedDeployment(t, plane); err != nil {
		return nil, err
	}
	// The Service as installed leads to a port of this machine.
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "webapps.app.example.com"}, crd); err != nil {
		return nil, err
	}
	s.balancer, err = listen(int(*crd.Spec.Conversion.Webhook.ClientConfig.Service.Port))
	return s, err
}

// shippedDeployment is the Deployment of config/default.
func shippedDeployment(t *testing.T, plane *controlplane.Plane) (*appsv1.Deployment, error) {
	root, err := controlplane.FindRoot()
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(t.Context(), plane.Kubectl(), "kustomize", filepath.Join(root, "config", "default")).Output()
	if err != nil {
		return nil, fmt.Errorf("rendering config/default: %w", err)
	}
	for _, document := range splitYAML(out) {
		deployment := &appsv1.Deployment{}
		if err := yaml.Unmarshal(document, deployment); err == nil && deployment.Kind == "Deployment" {
			return deployment, nil
		}
	}
	return nil, errors.New("config/default has no Deployment")
}

// stop ends what runs, in an orderly way.
func (s *site) stop() {
	for _, r := range s.replicas {
		r.process.Kill()
	}
	s.replicas = nil
	s.balancer.close()
}

// lag is how late the endpoints of a Service follow this time.
func lag() time.Duration { return leastLag + rand.N(mostLag-leastLag) }

func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(condition, patience, interval).Should(gomega.Succeed(), what)
}
