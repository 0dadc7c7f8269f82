package sharding

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

var managerPath = flag.String("manager", "", "path of the manager's binary; empty means bin/manager")

const (
	patience       = time.Minute
	interval       = 50 * time.Millisecond
	serviceAccount = "workload-operator-controller-manager"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the clients of these tests; the managers log to files of their own
	os.Exit(controlplane.Main(m, controlplane.Options{Nodes: 2}))
}

// site is a cluster with the operator without a name, and shards beside it.
type site struct {
	*gomega.WithT
	t          *testing.T
	plane      *controlplane.Plane
	client     client.Client
	kubeconfig string
	binary     string
}

// newSite installs the operator with these further arguments and starts it.
func newSite(t *testing.T, args ...string) *site {
	t.Helper()
	s := &site{WithT: gomega.NewWithT(t), t: t, plane: controlplane.Attach(t), binary: *managerPath}
	if s.binary == "" {
		root, err := controlplane.FindRoot()
		s.Expect(err).NotTo(gomega.HaveOccurred())
		s.binary = filepath.Join(root, "bin", "manager")
	}
	scheme := runtime.NewScheme()
	s.Expect(errors.Join(clientgoscheme.AddToScheme(scheme), appv1.AddToScheme(scheme), batchv1.AddToScheme(scheme))).To(gomega.Succeed())
	config := s.plane.RESTConfig()
	config.WarningHandlerWithContext = nil
	var err error
	s.client, err = client.New(config, client.Options{Scheme: scheme})
	s.Expect(err).NotTo(gomega.HaveOccurred())

	o, err := operator.New(operator.Options{Manager: s.binary, Args: args})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.Expect(o.On(t.Context(), s.plane)).To(gomega.Succeed())
	s.Expect(o.Install(t.Context())).To(gomega.Succeed())
	s.Expect(o.Start(t.Context())).To(gomega.Succeed())
	t.Cleanup(o.Kill)
	s.kubeconfig, err = s.plane.KubeconfigFor(t.Context(), operator.Namespace, serviceAccount)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return s
}

func (s *site) namespaces(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.Expect(s.client.Create(s.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(gomega.Succeed())
	}
}

// replica is one process of a shard.
type replica struct {
	*controlplane.Companion
	probes string
}

// shard starts a replica of a shard with these namespaces. It does not wait.
func (s *site) shard(name, namespaces string) *replica {
	s.t.Helper()
	at, err := operator.FreeAddresses()
	s.Expect(err).NotTo(gomega.HaveOccurred())
	r := &replica{probes: at.Probes}
	command := exec.Command(s.binary, "--kubeconfig="+s.kubeconfig, "--namespace="+operator.Namespace, "--leader-elect",
		"--shard="+name, "--namespaces="+namespaces, "--health-probe-bind-address="+r.probes, "--metrics-bind-address=0")
	r.Companion, err = s.plane.Launch("shard-"+name, command)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	s.t.Cleanup(r.Kill)
	return r
}

// readiness is nil, or why the replica is not ready.
func (r *replica) readiness(ctx context.Context) error {
	return operator.Ready(ctx, r.probes)
}

func (s *site) ready(replicas ...*replica) {
	s.t.Helper()
	for _, r := range replicas {
		s.Eventually(func() error { return r.readiness(s.t.Context()) }, patience, interval).Should(gomega.Succeed())
	}
}

// refused waits until the replica says why it stays out, which must be for this reason.
func (s *site) refused(r *replica, reason string) {
	s.t.Helper()
	s.Eventually(func() string { return fmt.Sprint(r.readiness(s.t.Context())) }, patience, interval).Should(gomega.ContainSubstring(reason))
	s.Expect(s.log(r)).To(gomega.ContainSubstring(reason))
}

// log is what the replica has said, with plain quotation marks.
func (s *site) log(r *replica) string {
	s.t.Helper()
	written, err := os.ReadFile(r.Log())
	s.Expect(err).NotTo(gomega.HaveOccurred())
	return strings.ReplaceAll(string(written), `\"`, `"`)
}

func (s *site) stop(r *replica) {
	s.t.Helper()
	s.Expect(r.Signal(syscall.SIGTERM)).To(gomega.Succeed())
	s.Eventually(r.Done(), patience).Should(gomega.BeClosed())
}
