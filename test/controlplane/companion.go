package controlplane

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Companion is a program that runs beside the plane, for example an operator. It ends when this process ends, however
// that happens, as the parts of the plane do.
type Companion struct {
	process *process
	log     string
}

// Launch starts a program beside the plane, with its output appended to a log named after it. Stop or Kill it before
// the plane is stopped.
func (p *Plane) Launch(name string, command *exec.Cmd) (*Companion, error) {
	p.mu.Lock()
	if p.launcher == nil { // an existing cluster, which has no parts of ours
		p.launcher = newLauncher()
	}
	launcher := p.launcher
	p.mu.Unlock()
	log := filepath.Join(p.Scratch(), name+".log")
	process, err := launcher.launch(Part(name), command, log, func(*process) {})
	if err != nil {
		return nil, err
	}
	return &Companion{process: process, log: log}, nil
}

// Scratch is a directory for files that belong to this use of the plane.
func (p *Plane) Scratch() string { return p.scratch }

// PID is the number of the process.
func (c *Companion) PID() int { return c.process.command.Process.Pid }

// Log is the path of the program's output.
func (c *Companion) Log() string { return c.log }

// Signal asks the program for something.
func (c *Companion) Signal(signal os.Signal) error { return c.process.command.Process.Signal(signal) }

// Kill ends the program at once, as a crash would, and waits for it.
func (c *Companion) Kill() { c.process.kill() }

// Done is closed when the program has ended.
func (c *Companion) Done() <-chan struct{} { return c.process.done }

// Ended says how the program ended, with the last lines of its log. Call it after Done.
func (c *Companion) Ended() error { return c.process.died(c.log) }
