package controlplane

import (
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"
)

// envOwner makes this test binary start a plane, report it and wait to be killed.
const envOwner = "CONTROLPLANE_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(envOwner) != "" {
		ownPlaneForever()
	}
	os.Exit(Main(m, Options{}))
}

func newClient(t *testing.T, p *Plane) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(p.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// start starts a plane that the test owns.
func start(t *testing.T, options Options) *Plane {
	t.Helper()
	p, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func stop(t *testing.T, p *Plane) {
	t.Helper()
	if err := p.Stop(); err != nil {
		t.Error(fmt.Errorf("stopping the plane: %w", err))
	}
}
