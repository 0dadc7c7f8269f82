package controlplane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// process is one running part.
type process struct {
	part     Part
	command  *exec.Cmd
	done     chan struct{} // closed once the process is gone and waited for
	err      error         // how it ended; read only after done
	stopping atomic.Bool   // set when we end it ourselves
}

// launcher starts children on one operating system thread that lives as long as the plane: Linux delivers the death
// signal of a parent when the thread that started the child ends, not when the process does.
type launcher struct {
	jobs   chan func()
	closed chan struct{}
}

func newLauncher() *launcher {
	l := &launcher{jobs: make(chan func()), closed: make(chan struct{})}
	go func() {
		defer close(l.closed)
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for job := range l.jobs {
			job()
		}
	}()
	return l
}

func (l *launcher) start(command *exec.Cmd) error {
	result := make(chan error)
	l.jobs <- func() { result <- command.Start() }
	return <-result
}

// close ends the thread. Every child must be gone before.
func (l *launcher) close() {
	close(l.jobs)
	<-l.closed
}

// launch starts a part in its own process group, so that a Ctrl-C in the terminal reaches its owner alone, with
// an environment that keeps the user's proxies and kwok settings out. exited is called once, after the process is gone.
func (l *launcher) launch(part Part, command *exec.Cmd, logPath string, exited func(*process)) (*process, error) {
	if err := os.MkdirAll(filepath.Dir(logPath), 0o755); err != nil {
		return nil, fmt.Errorf("creating the directory of logs: %w", err)
	}
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", part, err)
	}
	defer log.Close()
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = childAttributes()
	if err := l.start(command); err != nil {
		return nil, fmt.Errorf("starting %s: %w", part, err)
	}
	unwatch, err := killWithParent(command.Process.Pid)
	p := &process{part: part, command: command, done: make(chan struct{})}
	go func() {
		p.err = command.Wait()
		unwatch()
		close(p.done)
		exited(p)
	}()
	if err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// kill ends the process group at once and waits for it. Planes hold nothing worth a slow goodbye.
func (p *process) kill() {
	p.stopping.Store(true)
	select {
	case <-p.done:
		return // its number may belong to another process by now
	default:
	}
	_ = syscall.Kill(-p.command.Process.Pid, syscall.SIGKILL) // fails only if it is gone
	<-p.done
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// died describes an end that nobody asked for, with what the part said last.
func (p *process) died(logPath string) error {
	reason := "exit status 0"
	if p.err != nil {
		reason = p.err.Error()
	}
	return fmt.Errorf("%s stopped (%s): %s", p.part, reason, lastWords(logPath))
}

// lastWords returns the end of a log on one line, and where to read on.
func lastWords(logPath string) string {
	const lines, width = 3, 300
	content, err := os.ReadFile(logPath)
	if err != nil {
		return errors.Join(errors.New("no log"), err).Error()
	}
	var last []string
	all := strings.Split(string(content), "\n")
	for i := len(all) - 1; i >= 0 && len(last) < lines; i-- {
		line := strings.TrimSpace(all[i])
		if line == "" {
			continue
		}
		if len(line) > width {
			line = line[:width] + "..."
		}
		last = append([]string{line}, last...)
	}
	if len(last) == 0 {
		return "it logged nothing; log: " + logPath
	}
	return strings.Join(last, " | ") + "; log: " + logPath
}
