package controlplane

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func pids(p *Plane) []int {
	var all []int
	for _, part := range p.Parts() {
		all = append(all, p.PID(part))
	}
	return all
}

// A killed part is down, and comes back with its data.
func TestKillAndRestartKeepsData(t *testing.T) {
	g := NewWithT(t)
	p := start(t, Options{})
	defer stop(t, p)
	client := newClient(t, p)
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "marker"}, Data: map[string]string{"a": "b"}}
	_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), marker, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	get := func() error {
		_, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "marker", metav1.GetOptions{})
		return err
	}
	for _, part := range []Part{APIServer, Etcd} {
		before := p.PID(part)
		g.Expect(p.Kill(part)).To(Succeed())
		g.Expect(p.PID(part)).To(BeZero())
		g.Expect(alive(before)).To(BeFalse())
		if part == APIServer {
			g.Expect(get()).NotTo(Succeed(), "nobody answers")
		}
		g.Expect(p.Restart(t.Context(), part)).To(Succeed())
		g.Expect(p.PID(part)).NotTo(Equal(before))
		g.Expect(get()).To(Succeed(), "the data is there after %s restarted", part)
	}
	// Controller manager, scheduler and kwok lived through it, and work.
	_, err = client.AppsV1().Deployments("default").Create(t.Context(), newDeployment(3), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func(g Gomega) {
		deployment, err := client.AppsV1().Deployments("default").Get(t.Context(), "web", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(deployment.Status.AvailableReplicas).To(BeEquivalentTo(3))
	}).WithTimeout(timeout).Should(Succeed())
	g.Expect(p.Failed()).NotTo(Receive(), "a part that is told to stop has not failed")
}

// Planes do not meet, and Stop leaves neither process nor file.
func TestTwoPlanesAtOnce(t *testing.T) {
	g := NewWithT(t)
	planes := make([]*Plane, 2)
	errs := make(chan error)
	for i := range planes {
		go func() {
			var err error
			planes[i], err = Start(t.Context(), Options{Parts: APIOnly()})
			errs <- err
		}()
	}
	for range planes {
		g.Expect(<-errs).NotTo(HaveOccurred())
	}
	marker := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "marker"}}
	_, err := newClient(t, planes[0]).CoreV1().ConfigMaps("default").Create(t.Context(), marker, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = newClient(t, planes[1]).CoreV1().ConfigMaps("default").Get(t.Context(), "marker", metav1.GetOptions{})
	g.Expect(err).To(HaveOccurred(), "the planes share nothing")
	for _, p := range planes {
		all := pids(p)
		g.Expect(all).To(HaveLen(2))
		stop(t, p)
		for _, pid := range all {
			g.Expect(alive(pid)).To(BeFalse())
		}
		g.Expect(p.Dir()).NotTo(BeADirectory())
	}
}

// ownPlaneForever is the other process of TestOwnerKilled.
func ownPlaneForever() {
	p, err := Start(context.Background(), Options{Parts: []Part{ControllerManager}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(append(pids(p), os.Getpid())); err != nil {
		os.Exit(1)
	}
	fmt.Println(p.Dir())
	select {}
}

// No part outlives its owner, however it dies, and the next plane removes what the owner left.
func TestOwnerKilled(t *testing.T) {
	g := NewWithT(t)
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), envOwner+"=1")
	owner.Stderr = os.Stderr
	output, err := owner.StdoutPipe()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(owner.Start()).To(Succeed())
	reader := bufio.NewReader(output)
	line, err := reader.ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	var children []int
	g.Expect(json.Unmarshal([]byte(line), &children)).To(Succeed())
	g.Expect(children).To(HaveLen(4))
	dir, err := reader.ReadString('\n')
	g.Expect(err).NotTo(HaveOccurred())
	dir = strings.TrimSpace(dir)
	g.Expect(Running(dir)).To(BeTrue())

	g.Expect(owner.Process.Kill()).To(Succeed())
	_ = owner.Wait() // killed, as wanted
	for _, pid := range children {
		g.Eventually(func() bool { return alive(pid) }).WithTimeout(timeout).Should(BeFalse())
	}
	g.Expect(Running(dir)).To(BeFalse())
	g.Expect(dir).To(BeADirectory())
	stop(t, start(t, Options{Parts: APIOnly()}))
	g.Expect(dir).NotTo(BeADirectory(), "swept by the next plane")
}

func TestStartErrors(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	foreign := t.TempDir()
	if err := os.WriteFile(foreign+"/thesis.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason  string
		options Options
		want    string
	}{
		"occupied port": {
			reason:  "the line says what to do",
			options: Options{APIServerPort: port},
			want:    fmt.Sprintf("port %d is in use: stop what listens there, or choose another port (0 picks a free one)", port),
		},
		"foreign directory": {
			reason:  "what no plane made is not removed",
			options: Options{Parts: APIOnly(), Dir: foreign},
			want:    foreign + " is not empty and no plane made it: choose another directory",
		},
		"missing kubeconfig": {
			reason:  "the path is named",
			options: Options{Kubeconfig: "/nowhere/kubeconfig"},
			want:    "no kubeconfig at /nowhere/kubeconfig: check the path",
		},
		"unknown part": {
			reason:  "the choice is named",
			options: Options{Parts: []Part{"kubelet"}},
			want:    `unknown part "kubelet": choose from etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok`,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p, err := Start(t.Context(), tc.options)
			if p != nil {
				stop(t, p)
			}
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s: got error %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

// A part that cannot start is named, with its last words, and its siblings are gone.
func TestFailingPart(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir() + "/plane"
	_, err := Start(t.Context(), Options{
		Dir: dir, Parts: APIOnly(), ExtraArgs: map[Part][]string{APIServer: {"--no-such-flag"}},
	})
	g.Expect(err).To(MatchError(And(
		HavePrefix("kube-apiserver stopped (exit status 1): "),
		ContainSubstring("unknown flag: --no-such-flag"),
		HaveSuffix("log: "+dir+"/logs/kube-apiserver.log"),
	)))
	g.Expect(err.Error()).NotTo(ContainSubstring("\n"))
	state, err := ReadState(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(alive(state.PID)).To(BeTrue(), "that is us")
	g.Expect(Running(dir)).To(BeFalse())
}

// Somebody else's kill is a failure of the part, and is reported.
func TestPartDies(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir() + "/plane"
	p := start(t, Options{Parts: APIOnly(), Dir: dir})
	defer stop(t, p)
	_, err := Start(t.Context(), Options{Parts: APIOnly(), Dir: dir})
	g.Expect(err).To(MatchError(ErrRunning))

	g.Expect(syscall.Kill(p.PID(Etcd), syscall.SIGKILL)).To(Succeed())
	g.Eventually(p.Failed()).WithTimeout(timeout).Should(Receive(MatchError(ContainSubstring("etcd stopped (signal: killed)"))))
	g.Expect(p.Restart(t.Context(), Etcd)).To(Succeed())
	client, err := kubernetes.NewForConfig(p.RESTConfig())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}
