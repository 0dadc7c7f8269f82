package reliability

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// replica is one manager, run as the Deployment runs it.
type replica struct {
	process *controlplane.Companion
	at      operator.Addresses
}

// launch starts a replica and returns at once.
func (s *site) launch(t *testing.T) *replica {
	t.Helper()
	at, err := operator.FreeAddresses()
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{at: at}
	container := s.deployment.Spec.Template.Spec.Containers[0]
	env := map[string]string{}
	for _, v := range container.Env {
		switch from := v.ValueFrom; {
		case from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			v.Value = operator.Namespace
		case from != nil && from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
			v.Value = strconv.FormatInt(container.Resources.Limits.Memory().Value(), 10)
		}
		env[v.Name] = v.Value
	}
	args := expand(container, env)
	// The replicas share this machine, so each has ports of its own.
	args = append(append(args, at.Args()...), "--kubeconfig="+s.kubeconfig, "--shutdown-delay="+shutdownDelay.String())
	binary := *managerPath
	if binary == "" {
		root, err := controlplane.FindRoot()
		if err != nil {
			t.Fatal(err)
		}
		binary = root + "/bin/manager"
	}
	command := exec.Command(binary, append(args, s.extra...)...)
	command.Env = []string{"PATH=" + os.Getenv("PATH")}
	for name, value := range env {
		command.Env = append(command.Env, name+"="+value)
	}
	s.started++
	if r.process, err = s.plane.Launch(fmt.Sprintf("replica-%d", s.started), command); err != nil {
		t.Fatal(err)
	}
	return r
}

// expand is what the kubelet makes of the arguments of a container.
func expand(container corev1.Container, env map[string]string) []string {
	var args []string
	for _, arg := range container.Args {
		for name, value := range env {
			arg = strings.ReplaceAll(arg, "$("+name+")", value)
		}
		args = append(args, arg)
	}
	return args
}

// add starts a replica, waits until it is ready, and makes it an endpoint of the Service.
func (s *site) add(t *testing.T) *replica {
	t.Helper()
	r := s.launch(t)
	eventually(t, "the replica is ready", func() error {
		if r.ended() && strings.Contains(fmt.Sprint(r.process.Ended()), "address already in use") {
			// Somebody has taken the port that was free a moment ago.
			r = s.launch(t)
		}
		return r.ready()
	})
	s.replicas = append(s.replicas, r)
	s.balancer.add(r.at.Webhook)
	go s.follow(r)
	return r
}

// follow plays those who keep the endpoints of the Service: a replica that says that it is not ready is taken out, late.
func (s *site) follow(r *replica) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for range ticker.C {
		if r.ended() || r.refuses() {
			s.balancer.removeAfter(r.at.Webhook, lag())
			return
		}
	}
}

// retire tells the oldest replica to stop, as the kubelet does.
func (s *site) retire(t *testing.T) {
	t.Helper()
	r := s.replicas[0]
	s.replicas = s.replicas[1:]
	if err := r.process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// revive starts replicas for those that have ended by themselves, as the kubelet does. One that could not renew its Lease in time,
// on a machine that is too busy, does so.
func (s *site) revive(t *testing.T) {
	t.Helper()
	for i, r := range s.replicas {
		if r.ended() {
			t.Logf("a replica ended and is replaced: %v", r.process.Ended())
			s.replicas = append(s.replicas[:i], s.replicas[i+1:]...)
			s.add(t)
			return
		}
	}
}

// reset replaces all replicas by two with other arguments, without regard for requests.
func (s *site) reset(t *testing.T, extra ...string) {
	t.Helper()
	for _, r := range s.replicas {
		s.balancer.removeAfter(r.at.Webhook, 0)
		// It gives the Lease back at once, and is not waited for longer.
		_ = r.process.Signal(syscall.SIGTERM)
	}
	// One that was killed before holds it still; the next leader then waits for its end.
	released := func() bool { return s.holder(t) == "" }
	_ = wait.PollUntilContextTimeout(t.Context(), interval, 2*time.Second, true, func(context.Context) (bool, error) { return released(), nil })
	for _, r := range s.replicas {
		r.process.Kill()
	}
	s.replicas, s.extra = nil, extra
	attach(t)
}

func (r *replica) ended() bool {
	select {
	case <-r.process.Done():
		return true
	default:
		return false
	}
}

// ready is nil when the replica is.
func (r *replica) ready() error {
	if r.ended() {
		return fmt.Errorf("the replica ended: %w", r.process.Ended())
	}
	return operator.Ready(context.Background(), r.at.Probes)
}

// refuses says that the replica has answered that it is not ready; no answer is none.
func (r *replica) refuses() bool {
	err := r.ready()
	return err != nil && strings.HasPrefix(err.Error(), "503 ")
}

// leaf is the certificate that the replica serves to a new connection.
func (r *replica) leaf() (*x509.Certificate, error) {
	// Which authority signed it is what the tests look at.
	connection, err := tls.Dial("tcp", r.at.Webhook, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return connection.ConnectionState().PeerCertificates[0], nil
}

func splitYAML(documents []byte) [][]byte { return bytes.Split(documents, []byte("\n---\n")) }
