package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// EnvKubeconfig names the variable that gives tests a cluster to share, as `make test` does with one plane for all
// packages: `plane up --detach --name test`, then the kubeconfig that it prints.
const EnvKubeconfig = "WORKLOAD_PLANE_KUBECONFIG"

// TB is what Attach needs of testing.TB.
type TB interface {
	Helper()
	Context() context.Context
	Fatalf(format string, args ...any)
}

// shared is the plane of this test binary.
var shared struct {
	mu      sync.Mutex
	usable  bool // Main runs, so somebody will stop the plane
	options Options
	plane   *Plane
	err     error
}

// Main runs the tests of a package and stops the plane that Attach started, if it did. When tests failed, the logs of
// the plane stay, and their directory is printed. Call it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(controlplane.Main(m, controlplane.Options{})) }
func Main(m interface{ Run() int }, options Options) int {
	if options.Log == nil {
		options.Log = os.Stderr
	}
	shared.mu.Lock()
	shared.usable, shared.options = true, options
	shared.mu.Unlock()

	code := m.Run()

	shared.mu.Lock()
	defer shared.mu.Unlock()
	shared.usable = false
	if shared.plane == nil {
		return code
	}
	if err := endShared(code); err != nil {
		fmt.Fprintln(os.Stderr, "stopping the plane:", err)
		return max(code, 1)
	}
	return code
}

func endShared(code int) error {
	if code == 0 || shared.plane.Dir() == "" {
		return shared.plane.Stop()
	}
	fmt.Fprintln(os.Stderr, "logs of the plane:", shared.plane.path(logDir))
	return errors.Join(shared.plane.Keep(), shared.plane.Stop())
}

// Attach returns the plane that the tests of this binary share: the cluster of EnvKubeconfig if it is set, else a plane
// of its own, started by the first call. TestMain must call Main.
func Attach(t TB) *Plane {
	t.Helper()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if !shared.usable {
		t.Fatalf("controlplane.Attach needs a TestMain that calls controlplane.Main")
	}
	if shared.plane == nil && shared.err == nil {
		options := shared.options
		if kubeconfig := os.Getenv(EnvKubeconfig); kubeconfig != "" {
			options.Kubeconfig = kubeconfig
		}
		shared.plane, shared.err = Start(t.Context(), options)
	}
	if shared.err != nil {
		t.Fatalf("starting the control plane: %v", shared.err)
	}
	return shared.plane
}
