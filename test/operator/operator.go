package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/workload-operator/test/controlplane"
)

// Names that config/default gives.
const (
	Namespace      = "workload-operator-system"
	serviceAccount = "workload-operator-controller-manager"
)

// crds are the CustomResourceDefinitions, as arguments of kubectl.
var crds = []string{"crd/webapps.app.example.com", "crd/podsets.batch.example.com"}

const (
	loopback        = "127.0.0.1"
	readyTimeout    = time.Minute
	shutdownTimeout = 30 * time.Second
)

// Options says how the operator is run.
type Options struct {
	// Root is the root of the repository; empty finds it from the working directory.
	Root string
	// Manager is the path of the manager's binary; empty means bin/manager below Root.
	Manager string
	// Host is the name under which the API server reaches this machine; empty means localhost.
	Host string
	// Args are further arguments of the manager.
	Args []string
	// Without says which objects are not installed; nil installs all.
	Without func(*unstructured.Unstructured) bool
}

// Operator is the operator on a cluster, with its manager running or stopped.
type Operator struct {
	options    Options
	plane      *controlplane.Plane
	addresses  Addresses
	objects    []*unstructured.Unstructured // what is installed
	kubeconfig string
	manager    *controlplane.Companion
}

// New checks the options and prepares the operator. It touches no cluster.
func New(options Options) (*Operator, error) {
	if options.Root == "" {
		root, err := controlplane.FindRoot()
		if err != nil {
			return nil, err
		}
		options.Root = root
	}
	if options.Manager == "" {
		options.Manager = filepath.Join(options.Root, "bin", "manager")
	}
	if _, err := os.Stat(options.Manager); err != nil {
		return nil, fmt.Errorf("no manager at %s: run make build", options.Manager)
	}
	if options.Host == "" {
		options.Host = "localhost"
	}
	free, err := FreeAddresses()
	return &Operator{options: options, addresses: free}, err
}

// Use makes another binary the manager, from the next start on, and returns the one before.
func (o *Operator) Use(manager string) (before string) {
	before, o.options.Manager = o.options.Manager, manager
	return before
}

// On chooses the cluster, and renders what is to be installed there.
func (o *Operator) On(ctx context.Context, plane *controlplane.Plane) error {
	o.plane = plane
	objects, err := render(ctx, plane.Kubectl(), filepath.Join(o.options.Root, "config", "default"))
	if err != nil {
		return err
	}
	if o.options.Without != nil {
		objects = slices.DeleteFunc(objects, o.options.Without)
	}
	o.objects, err = adapt(objects, endpoint{host: o.options.Host, port: o.addresses.WebhookPort()})
	return err
}

// Existing names the objects of the installation that the cluster has already.
func (o *Operator) Existing(ctx context.Context) ([]string, error) {
	out, err := o.pipe(ctx, "get", "--ignore-not-found", "-o", "name", "-f", "-")
	return strings.Fields(string(out)), err
}

// Install applies config/default and waits until the API server serves the kinds. It does not start the manager.
func (o *Operator) Install(ctx context.Context) error {
	if _, err := o.pipe(ctx, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return fmt.Errorf("installing the operator: %w", err)
	}
	established := o.Kubectl(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=30s"}, crds...)...)
	if _, err := output(established); err != nil {
		return err
	}
	var err error
	o.kubeconfig, err = o.plane.KubeconfigFor(ctx, Namespace, serviceAccount)
	return err
}

// Uninstall removes what Install applied. Objects of the two kinds go with their CRDs.
func (o *Operator) Uninstall(ctx context.Context) error {
	_, err := o.pipe(ctx, "delete", "--ignore-not-found", "-f", "-")
	return err
}

// pipe runs kubectl with the objects of the installation on its standard input.
func (o *Operator) pipe(ctx context.Context, args ...string) ([]byte, error) {
	list, err := encode(o.objects)
	if err != nil {
		return nil, err
	}
	command := o.Kubectl(ctx, args...)
	command.Stdin = bytes.NewReader(list)
	return output(command)
}

// Kubectl is a kubectl command against the cluster, as its administrator. It runs in a process group of its own, so that a
// Ctrl-C in the terminal ends it through ctx, and the caller knows why it ended.
func (o *Operator) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, o.plane.Kubectl(), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+o.plane.Kubeconfig())
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command
}

// Start runs the manager as the service account of the manifests and waits until it is ready.
func (o *Operator) Start(ctx context.Context) error {
	if err := o.Launch(); err != nil {
		return err
	}
	if err := o.WaitReady(ctx); err != nil {
		return errors.Join(err, o.Stop())
	}
	return nil
}

// Launch runs the manager as the service account of the manifests.
func (o *Operator) Launch() error {
	args := append([]string{
		"--kubeconfig=" + o.kubeconfig,
		"--namespace=" + Namespace,
		"--leader-elect",
		"--shutdown-delay=0s", // nothing stands between the API server and this process that would have to learn of its end
	}, o.addresses.Args()...)
	command := exec.Command(o.options.Manager, append(args, o.options.Args...)...)
	manager, err := o.plane.Launch("manager", command)
	if err != nil {
		return err
	}
	o.manager = manager
	return nil
}

// Readiness asks /readyz once. The error is why the manager is not ready.
func (o *Operator) Readiness(ctx context.Context) error {
	return Ready(ctx, o.addresses.Probes)
}

// WaitReady asks /readyz until it says yes. The last refusal is part of the error.
func (o *Operator) WaitReady(ctx context.Context) error {
	reason := errors.New("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-o.manager.Done():
			return false, o.manager.Ended()
		default:
		}
		reason = o.Readiness(ctx)
		return reason == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the manager is not ready after %s: %w; log: %s", readyTimeout, reason, o.Log())
	}
	return err
}

// MetricsURL is where the manager serves its metrics, by HTTPS.
func (o *Operator) MetricsURL() string { return "https://" + o.addresses.Metrics + "/metrics" }

// Log is the path of the manager's log, which survives restarts.
func (o *Operator) Log() string { return o.manager.Log() }

// PID is the number of the manager's process.
func (o *Operator) PID() int { return o.manager.PID() }

// Done is closed when the manager has ended; Ended then says how.
func (o *Operator) Done() <-chan struct{} { return o.manager.Done() }

// Ended says how the manager ended.
func (o *Operator) Ended() error { return o.manager.Ended() }

// Kill ends the manager at once, as a crash would. Start starts it again.
func (o *Operator) Kill() { o.manager.Kill() }

// Stop asks the manager to end and waits for it. A manager that does not end in time is killed, which is an error.
func (o *Operator) Stop() error {
	if o.manager == nil {
		return nil
	}
	select {
	case <-o.manager.Done():
		return nil
	default:
	}
	if err := o.manager.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping the manager: %w", err)
	}
	timeout := time.NewTimer(shutdownTimeout)
	defer timeout.Stop()
	select {
	case <-o.manager.Done():
		return nil
	case <-timeout.C:
		o.Kill()
		return fmt.Errorf("the manager did not stop within %s and was killed; log: %s", shutdownTimeout, o.Log())
	}
}
