package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/example/workload-operator/test/controlplane"
)

// envMain makes this test binary behave as plane itself, also when plane runs itself as a supervisor.
const envMain = "PLANE_TEST_MAIN"

const timeout = 60 * time.Second

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], arguments...)
	cmd.Env = append(os.Environ(), envMain+"=1")
	return cmd
}

type result struct {
	stdout, stderr string
	code           int
}

func runPlane(t *testing.T, arguments ...string) result {
	t.Helper()
	cmd := command(t, arguments...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func TestMistakes(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	port := listener.Addr().(*net.TCPAddr).Port
	tests := map[string]struct {
		arguments []string
		code      int
		want      string
	}{
		"unknown command": {[]string{"fly"}, exitUsage, `unknown command "fly" (see plane --help)`},
		"unknown flag":    {[]string{"up", "--fly"}, exitUsage, `unknown flag: --fly (see plane up --help)`},
		"argument":        {[]string{"down", "test"}, exitUsage, `plane down takes no arguments, got "test" (see plane down --help)`},
		"nodes":           {[]string{"up", "--nodes=0"}, exitUsage, `--nodes 0: give a number from 1 to 1000, or leave kwok out of --parts`},
		"port":            {[]string{"up", "--port=70000"}, exitUsage, `--port 70000: give a number from 0 to 65535`},
		"parts": {[]string{"up", "--parts=kubelet"}, exitUsage,
			`--parts: unknown part "kubelet": choose from etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok`},
		"name": {[]string{"status", "--name=A/b"}, exitUsage,
			`--name "A/b": use up to 42 lower case letters, digits and dashes, and none of [bin build run]`},
		"reserved name": {[]string{"down", "--name=bin"}, exitUsage,
			`--name "bin": use up to 42 lower case letters, digits and dashes, and none of [bin build run]`},
		"detached existing cluster": {[]string{"up", "--detach", "--kubeconfig=x"}, exitUsage,
			`--detach and --kubeconfig exclude each other: with --kubeconfig nothing is started`},
		"missing kubeconfig": {[]string{"up", "--kubeconfig=/nowhere/config"}, exitFailure,
			`no kubeconfig at /nowhere/config: check the path`},
		"occupied port": {[]string{"up", "--name=mistakes", fmt.Sprintf("--port=%d", port)}, exitFailure,
			fmt.Sprintf("port %d is in use: stop what listens there, or choose another port (0 picks a free one)", port)},
		"occupied port, detached": {[]string{"up", "--detach", "--name=mistakes", fmt.Sprintf("--port=%d", port)}, exitFailure,
			fmt.Sprintf("port %d is in use: stop what listens there, or choose another port (0 picks a free one)", port)},
		"nothing runs": {[]string{"status", "--name=mistakes"}, exitFailure,
			`plane "mistakes" does not run: start it with plane up --name mistakes`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := runPlane(t, tc.arguments...)
			if want := "Error: " + tc.want + "\n"; got.stderr != want || got.code != tc.code {
				t.Errorf("got code %d and %q, want code %d and %q", got.code, got.stderr, tc.code, want)
			}
		})
	}
}

// planeName is a name that no other run of the test uses; the plane is ended when the test is.
func planeName(t *testing.T, suffix string) (name, dir string) {
	t.Helper()
	name = fmt.Sprintf("test-%d-%s", os.Getpid(), suffix)
	dir, err := directoryOf(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd := exec.Command(os.Args[0], "down", "--name="+name)
		cmd.Env = append(os.Environ(), envMain+"=1")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("plane down: %v: %s", err, output)
		}
		if _, err := os.Stat(dir + ".log"); err == nil {
			t.Error("plane down left its log")
		}
	})
	return name, dir
}

func TestDetachedLife(t *testing.T) {
	g := NewWithT(t)
	name, dir := planeName(t, "life")
	out := filepath.Join(t.TempDir(), "kubeconfig")
	up := []string{"up", "--detach", "--name=" + name, "--parts=kube-apiserver", "--kubeconfig-out=" + out}

	first := runPlane(t, up...)
	g.Expect(first.code).To(BeZero(), first.stderr)
	g.Expect(first.stdout).To(ContainSubstring("export KUBECONFIG=" + dir + "/kubeconfig\n"))
	g.Expect(out).To(BeARegularFile())

	again := runPlane(t, up...)
	g.Expect(again.code).To(BeZero(), again.stderr)
	g.Expect(again.stdout).To(ContainSubstring(fmt.Sprintf("plane %q already runs", name)))
	g.Expect(again.stdout).To(ContainSubstring("export KUBECONFIG=" + dir + "/kubeconfig\n"))

	status := runPlane(t, "status", "--name="+name)
	g.Expect(status.code).To(BeZero(), status.stderr)
	g.Expect(status.stdout).To(MatchRegexp(`(?m)^kube-apiserver +ok +\d+ +\d+ +v1\.37\.\d+$`))

	existing := runPlane(t, "up", "--kubeconfig="+out)
	g.Expect(existing.code).To(BeZero(), existing.stderr)
	g.Expect(existing.stdout).To(ContainSubstring("nothing started"))

	state, err := controlplane.ReadState(dir)
	g.Expect(err).NotTo(HaveOccurred())
	down := runPlane(t, "down", "--name="+name)
	g.Expect(down.code).To(BeZero(), down.stderr)
	g.Expect(down.stdout).To(Equal(fmt.Sprintf("plane %q stopped\n", name)))
	g.Expect(dir).NotTo(BeADirectory())
	for _, part := range state.Parts {
		g.Expect(syscall.Kill(part.PID, 0)).NotTo(Succeed(), "%s is gone", part.Name)
	}
	g.Expect(runPlane(t, "down", "--name="+name).stdout).To(Equal(fmt.Sprintf("plane %q does not run\n", name)))
}

// A supervisor that is killed takes its parts along; what it left is recognised, and no obstacle.
func TestKilledSupervisor(t *testing.T) {
	g := NewWithT(t)
	name, dir := planeName(t, "killed")
	up := []string{"up", "--detach", "--name=" + name, "--parts=kube-apiserver"}
	first := runPlane(t, up...)
	g.Expect(first.code).To(BeZero(), first.stderr)
	state, err := controlplane.ReadState(dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(syscall.Kill(state.PID, syscall.SIGKILL)).To(Succeed())
	for _, part := range state.Parts {
		g.Eventually(func() error { return syscall.Kill(part.PID, 0) }).WithTimeout(timeout).ShouldNot(Succeed())
	}
	status := runPlane(t, "status", "--name="+name)
	g.Expect(status.code).To(Equal(exitFailure))
	g.Expect(status.stderr).To(ContainSubstring(fmt.Sprintf("ended without cleaning up: run plane up --name %s, or plane down --name %[1]s to remove its data", name)))

	again := runPlane(t, up...)
	g.Expect(again.code).To(BeZero(), again.stderr)
	g.Expect(again.stdout).To(ContainSubstring("is ready"))
}

// Two at once: one starts the plane, the other waits for it.
func TestTwoStartsAtOnce(t *testing.T) {
	g := NewWithT(t)
	name, _ := planeName(t, "twice")
	results := make(chan result)
	for range 2 {
		go func() { results <- runPlane(t, "up", "--detach", "--name="+name, "--parts=kube-apiserver") }()
	}
	for range 2 {
		got := <-results
		g.Expect(got.code).To(BeZero(), got.stderr)
		g.Expect(got.stdout).To(ContainSubstring("export KUBECONFIG="))
	}
}

// In the foreground a plane ends with Ctrl-C, or when a part dies, and then says which.
func TestForeground(t *testing.T) {
	tests := map[string]struct {
		end    func(owner *exec.Cmd, state controlplane.State) error
		code   int
		stderr string
	}{
		"interrupted": {
			end:  func(owner *exec.Cmd, _ controlplane.State) error { return owner.Process.Signal(os.Interrupt) },
			code: 0,
		},
		"part-dies": {
			end: func(_ *exec.Cmd, state controlplane.State) error {
				return syscall.Kill(state.Parts[0].PID, syscall.SIGKILL)
			},
			code:   exitFailure,
			stderr: "Error: etcd stopped (signal: killed): ",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			plane, dir := planeName(t, name)
			owner := command(t, "up", "--name="+plane, "--parts=kube-apiserver")
			var stderr bytes.Buffer
			owner.Stderr = &stderr
			g.Expect(owner.Start()).To(Succeed())
			var state controlplane.State
			g.Eventually(func() bool {
				state, _ = controlplane.ReadState(dir)
				return state.Ready
			}).WithTimeout(timeout).Should(BeTrue())

			g.Expect(tc.end(owner, state)).To(Succeed())
			_ = owner.Wait() // the code is looked at below
			g.Expect(owner.ProcessState.ExitCode()).To(Equal(tc.code), stderr.String())
			g.Expect(stderr.String()).To(HavePrefix(tc.stderr))
			g.Expect(strings.Count(stderr.String(), "\n")).To(BeNumerically("<=", 1))
			g.Expect(controlplane.Running(dir)).To(BeFalse())
			for _, part := range state.Parts {
				g.Expect(syscall.Kill(part.PID, 0)).NotTo(Succeed(), "%s is gone", part.Name)
			}
		})
	}
}

// The tour of make run has the result that it expects at every step.
func TestTour(t *testing.T) {
	g := NewWithT(t)
	got := runPlane(t, "build")
	g.Expect(got.code).To(Equal(0), got.stderr)
	g.Expect(got.stdout).To(BeEmpty(), "nothing was missing")
	got = runPlane(t, "run", "--once")
	g.Expect(got.code).To(Equal(0), got.stdout+got.stderr)
	g.Expect(got.stdout).To(ContainSubstring("A bad spec is refused"))
}
