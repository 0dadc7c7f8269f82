package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/example/workload-operator/test/controlplane"
)

// A detached plane is kept by a second run of this program, the supervisor. It reports on a pipe: one line, either
// reportReady or the error. The end of the pipe without a line is the end of the supervisor.
const (
	reportReady = "ready"
	reportFD    = 3
)

// startDetached builds here, where progress is seen, and leaves starting to the supervisor.
func (u *up) startDetached(ctx context.Context, dir string, options controlplane.Options, out io.Writer) error {
	if err := controlplane.BuildFor(ctx, options); err != nil {
		return err
	}
	fmt.Fprintln(out, "starting the control plane")
	line, err := u.runSupervisor(ctx, dir)
	if err != nil {
		return err
	}
	if line != reportReady {
		return errors.New(line)
	}
	state, err := controlplane.ReadState(dir)
	if err != nil {
		return err
	}
	u.printReady(out, state)
	return nil
}

// runSupervisor starts the supervisor in a session of its own and returns its report.
func (u *up) runSupervisor(ctx context.Context, dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	logPath := controlplane.LogOf(dir)
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return "", fmt.Errorf("creating the directory of planes: %w", err)
	}
	log, err := os.Create(logPath)
	if err != nil {
		return "", fmt.Errorf("creating the log of the plane: %w", err)
	}
	defer log.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("creating a pipe: %w", err)
	}
	defer reader.Close()
	command := exec.Command(self, u.supervisorArguments()...)
	command.Stdout, command.Stderr = log, log
	command.ExtraFiles = []*os.File{writer}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = command.Start()
	writer.Close()
	if err != nil {
		return "", fmt.Errorf("starting the supervisor of the plane: %w", err)
	}
	return readReport(ctx, command, reader, logPath)
}

// readReport waits for the report. When ctx ends first, the supervisor is told to end, too.
func readReport(ctx context.Context, command *exec.Cmd, reader *os.File, logPath string) (string, error) {
	unhook := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) })
	defer unhook()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		return "", errors.Join(fmt.Errorf("the supervisor of the plane ended without a word; log: %s", logPath), command.Wait())
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("starting the control plane: %w", context.Cause(ctx))
	}
	return strings.TrimSpace(line), nil
}

func (u *up) supervisorArguments() []string {
	arguments := []string{"up", "--supervisor", "--name=" + u.name, "--nodes=" + strconv.Itoa(u.nodes), "--port=" + strconv.Itoa(u.port)}
	if u.parts != "" {
		arguments = append(arguments, "--parts="+u.parts)
	}
	if u.kubeconfigOut != "" {
		arguments = append(arguments, "--kubeconfig-out="+u.kubeconfigOut)
	}
	return arguments
}

// reporter tells the outcome of a start to whoever waits for it: the pipe of a supervisor, else the terminal.
type reporter struct {
	up   *up
	out  io.Writer
	pipe *os.File
}

func (u *up) reporter(out io.Writer) *reporter {
	r := &reporter{up: u, out: out}
	if u.supervisor {
		r.pipe = os.NewFile(reportFD, "report")
		// The parts must not hold the pipe open, or the end of this process would go unnoticed.
		syscall.CloseOnExec(reportFD)
	}
	return r
}

func (r *reporter) ready(dir string) {
	if r.pipe != nil {
		r.send(reportReady)
		return
	}
	if state, err := controlplane.ReadState(dir); err == nil {
		r.up.printReady(r.out, state)
	}
}

func (r *reporter) failed(err error) {
	if r.pipe != nil {
		r.send(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

func (r *reporter) send(line string) {
	// A reader that is gone has nobody to tell.
	_, _ = fmt.Fprintln(r.pipe, line)
	_ = r.pipe.Close()
}

func (u *up) printReady(out io.Writer, state controlplane.State) {
	fmt.Fprintf(out, "plane %q is ready at %s\n", u.name, state.Server)
	printUsage(out, state.Kubeconfig, state.Kubectl)
	if u.detach || u.supervisor {
		fmt.Fprintf(out, "\n%s shows it; %s ends it\n", call("status", u.name), call("down", u.name))
		return
	}
	fmt.Fprintln(out, "\nCtrl-C ends it")
}
