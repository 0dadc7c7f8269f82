package helm

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/manifests"
)

var managerPath = flag.String("manager", "", "path of the manager's binary; empty means bin/manager")

const (
	patience = 90 * time.Second
	interval = 100 * time.Millisecond

	chartPath    = "charts/workload-operator"
	shippedChart = "../../" + chartPath
	helmModule   = "../../tools/helm/go.mod"
	firstValues  = "../../charts/testdata/first_values.yaml"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the clients of these tests
	parts := append(controlplane.APIOnly(), controlplane.ControllerManager)
	os.Exit(controlplane.Main(runner{m}, controlplane.Options{Parts: parts}))
}

// runner ends what the kubelet runs before the plane goes.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	code := r.m.Run()
	if shared.site != nil {
		shared.site.kubelet.stop()
		shared.site.balancer.close()
	}
	return code
}

// shared is the cluster that all tests of the package use, one after the other.
var shared struct {
	once sync.Once
	site *site
	err  error
}

// site is the cluster, and helm.
type site struct {
	plane    *controlplane.Plane
	client   client.Client
	balancer *balancer
	kubelet  *kubelet
	root     string // of the repository
	binary   string // of helm
	home     string // of helm, without anybody's settings
	chart    string // a copy of the shipped one, whose Service leads here

	ran    []string // command lines that succeeded
	copies []string // of the chart, as other releases
}

func attach(t *testing.T) *site {
	t.Helper()
	plane := controlplane.Attach(t)
	shared.once.Do(func() { shared.site, shared.err = newSite(t, plane) })
	if shared.err != nil {
		t.Fatalf("preparing the cluster: %v", shared.err)
	}
	return shared.site
}

func newSite(t *testing.T, plane *controlplane.Plane) (*site, error) {
	s := &site{plane: plane, home: plane.Scratch()}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	config := plane.RESTConfig()
	config.WarningHandler, config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	var err error
	if s.root, err = controlplane.FindRoot(); err != nil {
		return nil, err
	}
	if s.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	manifests.ReadInputs(t, shippedChart, helmModule)
	if s.binary, err = manifests.ToolPath(helmModule, "helm"); err != nil {
		return nil, err
	}
	if s.balancer, err = listen(); err != nil {
		return nil, err
	}
	if s.chart, err = leadHere(filepath.Join(plane.Scratch(), "chart"), s.balancer.port()); err != nil {
		return nil, err
	}
	s.kubelet, err = startKubelet(s)
	return s, err
}

// leadHere copies the shipped chart, and makes the Service of the webhooks a name for this machine. Such a Service maps no ports, so its
// clients are told the port.
func leadHere(dir string, port int) (string, error) {
	if err := os.CopyFS(dir, os.DirFS(shippedChart)); err != nil {
		return "", err
	}
	changes := map[string]struct {
		find, put string
		times     int
	}{
		"services.yaml": {
			"spec:\n  selector:\n    {{- include \"workload-operator.selector\" . | nindent 4 }}\n  ports:\n  - name: webhook",
			"spec:\n  type: ExternalName\n  externalName: localhost\n  ports:\n  - name: webhook", 1,
		},
		"generated/crd_webapps.app.example.com.yaml":   {"port: 443", fmt.Sprintf("port: %d", port), 1},
		"generated/crd_podsets.batch.example.com.yaml": {"port: 443", fmt.Sprintf("port: %d", port), 1},
		"generated/webhooks.yaml":                      {"\n      path: /", fmt.Sprintf("\n      port: %d\n      path: /", port), 8},
	}
	for name, change := range changes {
		file := filepath.Join(dir, "templates", name)
		data, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		if got := bytes.Count(data, []byte(change.find)); got != change.times {
			return "", fmt.Errorf("%s has %q %d times, want %d", name, change.find, got, change.times)
		}
		data = bytes.ReplaceAll(data, []byte(change.find), []byte(change.put))
		if err := os.WriteFile(file, data, 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// run calls a program and returns what it prints to standard output. The error has the rest.
func (s *site) run(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	line := strings.Join(append([]string{program}, args...), " ")
	path := map[string]string{"helm": s.binary, "kubectl": s.plane.Kubectl(), "workloadctl": filepath.Join(s.root, "bin", "workloadctl"), "make": "make"}[program]
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir = s.root
	command.Env = []string{
		"KUBECONFIG=" + s.plane.Kubeconfig(), "HOME=" + s.home,
		"HELM_CACHE_HOME=" + s.home, "HELM_CONFIG_HOME=" + s.home, "HELM_DATA_HOME=" + s.home,
	}
	if program == "make" { // its tools are run by go
		command.Env = append(os.Environ(), "KUBECONFIG="+s.plane.Kubeconfig(), "KUBECTL="+s.plane.Kubectl())
	}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	started := time.Now()
	err := command.Run()
	t.Logf("%5.1fs %s", time.Since(started).Seconds(), line)
	if err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", program, args[0], err, stdout.String(), stderr.String())
	}
	s.ran = append(s.ran, line)
	return stdout.String(), nil
}

// must calls a program, which must succeed.
func (s *site) must(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := s.run(t, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (s *site) helm(t *testing.T, args ...string) string {
	t.Helper()
	return s.must(t, "helm", args...)
}

// version matches that of the chart.
var version = regexp.MustCompile(`(?m)^(version|appVersion): .*$`)

// released is the chart of another release of the operator.
func (s *site) released(t *testing.T, number string) string {
	t.Helper()
	return s.changed(t, "Chart.yaml", func(data []byte) []byte { return version.ReplaceAll(data, []byte("$1: "+number)) })
}

// first is the chart as releases have it that were installed before it got more values.
func (s *site) first(t *testing.T) string {
	t.Helper()
	values, err := os.ReadFile(firstValues)
	if err != nil {
		t.Fatal(err)
	}
	return s.changed(t, "values.yaml", func([]byte) []byte { return values })
}

// changed is a copy of the chart in which one file is another.
func (s *site) changed(t *testing.T, name string, change func([]byte) []byte) string {
	t.Helper()
	dir := t.TempDir()
	s.copies = append(s.copies, dir)
	if err := os.CopyFS(dir, os.DirFS(s.chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, name)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, change(data), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

func eventually(t *testing.T, what string, condition func() error) {
	t.Helper()
	gomega.NewWithT(t).Eventually(condition, patience, interval).Should(gomega.Succeed(), what)
}
