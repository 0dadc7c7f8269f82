package operator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// Options says how the operator is installed and run.
type Options struct {
	// Plane is the cluster.
	Plane *controlplane.Plane
	// Root is the root of the repository; empty finds it from the working directory.
	Root string
	// Manager is the path of the manager's binary; empty means bin/manager below Root.
	Manager string
	// Host is the name under which the API server reaches this machine; empty means localhost.
	Host string
	// Args are further arguments of the manager.
	Args []string
	// Log receives progress lines; nil discards them.
	Log io.Writer
}

// Operator is an installed operator, with its manager running or stopped.
type Operator struct {
	options    Options
	ports      ports
	kubeconfig string
	manager    *controlplane.Companion
}

// ports of the manager on the loopback interface.
type ports struct{ webhook, probes, metrics int }

// Install applies config/default and waits until the API server serves the kinds. It does not start the manager.
func Install(ctx context.Context, options Options) (*Operator, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	o := &Operator{options: options}
	var err error
	if o.ports, err = freePorts(); err != nil {
		return nil, err
	}
	if err := o.apply(ctx); err != nil {
		return nil, err
	}
	o.kubeconfig, err = options.Plane.KubeconfigFor(ctx, Namespace, serviceAccount)
	return o, err
}

func (o *Options) complete() error {
	if o.Root == "" {
		root, err := controlplane.FindRoot()
		if err != nil {
			return err
		}
		o.Root = root
	}
	if o.Manager == "" {
		o.Manager = filepath.Join(o.Root, "bin", "manager")
	}
	if _, err := os.Stat(o.Manager); err != nil {
		return fmt.Errorf("no manager at %s: run make build", o.Manager)
	}
	if o.Host == "" {
		o.Host = "localhost"
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return nil
}

func (o *Operator) apply(ctx context.Context) error {
	objects, err := o.manifests(ctx)
	if err != nil {
		return err
	}
	list, err := encode(objects)
	if err != nil {
		return err
	}
	apply := o.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "-f", "-")
	apply.Stdin = bytes.NewReader(list)
	if _, err := output(apply); err != nil {
		return fmt.Errorf("installing the operator: %w", err)
	}
	established := o.Kubectl(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=30s"}, crds...)...)
	_, err = output(established)
	return err
}

func (o *Operator) manifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	objects, err := render(ctx, o.options.Plane.Kubectl(), filepath.Join(o.options.Root, "config", "default"))
	if err != nil {
		return nil, err
	}
	return adapt(objects, endpoint{host: o.options.Host, port: int64(o.ports.webhook)})
}

// Kubectl is a kubectl command against the cluster, as its administrator.
func (o *Operator) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, o.options.Plane.Kubectl(), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+o.options.Plane.Kubeconfig())
	return command
}

// Start runs the manager as the service account of the manifests and waits until it is ready.
func (o *Operator) Start(ctx context.Context) error {
	command := exec.Command(o.options.Manager, append([]string{
		"--kubeconfig=" + o.kubeconfig,
		"--namespace=" + Namespace,
		"--webhook-bind-address=" + loopback,
		"--webhook-port=" + strconv.Itoa(o.ports.webhook),
		"--health-probe-bind-address=" + address(o.ports.probes),
		"--metrics-bind-address=" + address(o.ports.metrics),
		"--leader-elect",
		"--shutdown-delay=0s", // nothing stands between the API server and this process that would have to learn of its end
	}, o.options.Args...)...)
	manager, err := o.options.Plane.Launch("manager", command)
	if err != nil {
		return err
	}
	o.manager = manager
	if err := o.waitReady(ctx); err != nil {
		return errors.Join(err, o.Stop())
	}
	return nil
}

// waitReady asks /readyz until it says yes. The last refusal is part of the error.
func (o *Operator) waitReady(ctx context.Context) error {
	reason := errors.New("no answer yet")
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-o.manager.Done():
			return false, o.manager.Ended()
		default:
		}
		reason = get(ctx, "http://"+address(o.ports.probes)+"/readyz?verbose")
		return reason == nil, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("the manager is not ready after %s: %w; log: %s", readyTimeout, reason, o.Log())
	}
	return err
}

func get(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", response.Status, strings.ReplaceAll(strings.TrimSpace(string(body)), "\n", ", "))
	}
	return nil
}

// Log is the path of the manager's log, which survives restarts.
func (o *Operator) Log() string { return o.manager.Log() }

// Done is closed when the manager has ended; Ended then says how.
func (o *Operator) Done() <-chan struct{} { return o.manager.Done() }

// Ended says how the manager ended.
func (o *Operator) Ended() error { return o.manager.Ended() }

// Kill ends the manager at once, as a crash would. Start starts it again.
func (o *Operator) Kill() { o.manager.Kill() }

// Stop asks the manager to end and waits for it. A manager that does not end in time is killed, which is an error.
func (o *Operator) Stop() error {
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

// Installed says whether a cluster has one of the kinds.
func Installed(ctx context.Context, plane *controlplane.Plane) (bool, error) {
	get := (&Operator{options: Options{Plane: plane}}).Kubectl(ctx, append([]string{"get", "--ignore-not-found", "-o", "name"}, crds...)...)
	out, err := output(get)
	return len(out) > 0, err
}

// Uninstall removes what Install applied. Objects of the two kinds go with their CRDs.
func (o *Operator) Uninstall(ctx context.Context) error {
	objects, err := o.manifests(ctx)
	if err != nil {
		return err
	}
	list, err := encode(objects)
	if err != nil {
		return err
	}
	remove := o.Kubectl(ctx, "delete", "--ignore-not-found", "-f", "-")
	remove.Stdin = bytes.NewReader(list)
	_, err = output(remove)
	return err
}

func address(port int) string { return net.JoinHostPort(loopback, strconv.Itoa(port)) }

// freePorts asks the kernel for ports that nobody listens on.
func freePorts() (ports, error) {
	var numbers [3]int
	for i := range numbers {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return ports{}, fmt.Errorf("looking for a free port: %w", err)
		}
		defer listener.Close()
		numbers[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports{webhook: numbers[0], probes: numbers[1], metrics: numbers[2]}, nil
}
