//go:build unix && !linux

package controlplane

import (
	"fmt"
	"os/exec"
	"strconv"
	"syscall"
)

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killWithParent starts a watchdog that kills the process group of pid once this process is gone. Its input is a pipe
// that only this process holds open: the end of input is the end of the owner, however it came.
func killWithParent(pid int) (unwatch func(), err error) {
	watchdog := exec.Command("/bin/sh", "-c", `read -r _; kill -s KILL -- "-$0"`, strconv.Itoa(pid))
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := watchdog.StdinPipe()
	if err != nil {
		return func() {}, fmt.Errorf("creating the pipe of the watchdog: %w", err)
	}
	if err := watchdog.Start(); err != nil {
		return func() {}, fmt.Errorf("starting the watchdog: %w", err)
	}
	return func() {
		_ = watchdog.Process.Kill() // before its input ends, or it would kill a stranger with the same number
		_ = watchdog.Wait()
		_ = input.Close()
	}, nil
}
