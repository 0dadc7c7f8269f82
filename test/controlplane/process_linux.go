package controlplane

import "syscall"

// childAttributes makes the kernel kill the child when the thread that started it ends, so also on SIGKILL of the owner.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// killWithParent has nothing to add to the attributes on Linux.
func killWithParent(int) (unwatch func(), err error) { return func() {}, nil }
