package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// ErrRunning says that a plane already runs in the directory.
var ErrRunning = errors.New("a plane already runs here")

// Plane is a running control plane, or an existing cluster that stands in for one. Its methods may be called
// concurrently, except Stop, which is called last.
type Plane struct {
	// AuditLog records every request to the API server; empty for an existing cluster.
	AuditLog AuditLog

	options  Options
	dir      string // keys, data and logs; empty for an existing cluster
	scratch  string // files made on demand
	binaries Binaries
	ports    ports
	config   *rest.Config
	probe    *http.Client
	launcher *launcher // absent for an existing cluster without companions
	lock     *fileLock // claims dir
	portLock *fileLock
	failed   chan error    // the first part that stopped by itself
	broken   chan struct{} // closed at that moment
	breaking sync.Once

	mu        sync.Mutex
	processes map[Part]*process
	ready     bool
	started   time.Time
}

// Dir is the directory of keys, data and logs; empty for an existing cluster.
func (p *Plane) Dir() string { return p.dir }

// Kubeconfig is the path of a kubeconfig of an administrator.
func (p *Plane) Kubeconfig() string {
	if p.dir == "" {
		return p.options.Kubeconfig
	}
	return p.path(adminKubeconfig)
}

// RESTConfig returns a copy of the configuration of an administrator, without a client-side rate limit.
func (p *Plane) RESTConfig() *rest.Config { return rest.CopyConfig(p.config) }

// Kubectl is the path of a kubectl of the same version.
func (p *Plane) Kubectl() string { return p.binaries[kubectl] }

// Parts returns the parts that the plane has; none for an existing cluster.
func (p *Plane) Parts() []Part {
	if p.dir == "" {
		return nil
	}
	return slices.Clone(p.options.Parts)
}

// Logs is the path of the log of a part. It survives restarts of the part.
func (p *Plane) Logs(part Part) string { return p.path(filepath.Join(logDir, string(part)+".log")) }

// PID is the number of the process of a part, or 0 if it does not run.
func (p *Plane) PID(part Part) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if proc := p.processes[part]; proc != nil && proc.running() {
		return proc.command.Process.Pid
	}
	return 0
}

// Kill ends a part at once, as a crash would. Killing a part that does not run does nothing.
func (p *Plane) Kill(part Part) error {
	if err := p.has(part); err != nil {
		return err
	}
	p.mu.Lock()
	proc := p.processes[part]
	p.mu.Unlock()
	if proc != nil {
		proc.kill()
	}
	return nil
}

// Restart starts a part with its data and port as before, ending it first if it runs, and waits until it works. After
// etcd it waits until the API server works, too.
func (p *Plane) Restart(ctx context.Context, part Part) error {
	if err := p.Kill(part); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.ReadyTimeout)
	defer cancel()
	if err := p.startPart(part); err != nil {
		return err
	}
	if err := p.waitHealthy(ctx, part); err != nil {
		return err
	}
	if part == Etcd && p.PID(APIServer) != 0 {
		if err := p.waitHealthy(ctx, APIServer); err != nil {
			return err
		}
	}
	return p.writeState()
}

// Failed delivers the error of the first part that stopped without being told to.
func (p *Plane) Failed() <-chan error { return p.failed }

// Stop ends every part and removes the directory, or all but the logs if Keep was called. It does nothing to an
// existing cluster.
func (p *Plane) Stop() error {
	for _, part := range slices.Backward(p.Parts()) {
		if err := p.Kill(part); err != nil {
			return err
		}
	}
	if p.launcher != nil {
		p.launcher.close()
	}
	if p.dir == "" {
		return os.RemoveAll(p.scratch)
	}
	defer p.portLock.release()
	defer p.lock.release()
	if p.kept() {
		return os.RemoveAll(p.path(etcdDataDir))
	}
	return removeDir(p.dir)
}

// keepFile marks a directory whose logs are wanted, which they are for keepFor.
const (
	keepFile = "keep"
	keepFor  = 24 * time.Hour
)

// Keep makes Stop leave the logs in Dir, for a look after a failed test. They go when a later plane starts, a day later
// at the earliest, or earlier if it starts in the same directory.
func (p *Plane) Keep() error {
	if p.dir == "" {
		return nil
	}
	return p.writeFile(keepFile, nil)
}

func (p *Plane) kept() bool {
	_, err := os.Stat(p.path(keepFile))
	return err == nil
}

func (p *Plane) has(part Part) error {
	if slices.Contains(p.Parts(), part) {
		return nil
	}
	return fmt.Errorf("this plane has no part %s that it could stop or start", part)
}

func (p *Plane) path(name string) string { return filepath.Join(p.dir, name) }

func (p *Plane) logf(format string, arguments ...any) {
	fmt.Fprintf(p.options.Log, format+"\n", arguments...)
}
