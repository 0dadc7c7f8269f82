package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// Start starts a plane and returns once it is ready: the API answers, RBAC is bootstrapped, the default service
// account exists, every node is ready and every part reports health, each as far as its part was asked for.
// ctx bounds the start alone; the plane runs until Stop, or until this process ends.
func Start(ctx context.Context, options Options) (*Plane, error) {
	if err := options.setDefaults(); err != nil {
		return nil, err
	}
	if options.Kubeconfig != "" {
		return useExisting(ctx, options)
	}
	binaries, err := Build(ctx, BuildOptions{Root: options.Root, Names: binariesOf(options.Parts), Log: options.Log})
	if err != nil {
		return nil, err
	}
	p := &Plane{
		options: options, binaries: binaries, started: time.Now(),
		processes: map[Part]*process{}, failed: make(chan error, 1), broken: make(chan struct{}),
	}
	if err := p.claim(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, options.ReadyTimeout, fmt.Errorf("gave up after %s", options.ReadyTimeout))
	defer cancel()
	if err := p.bringUp(ctx); err != nil {
		return nil, errors.Join(err, p.Keep(), p.Stop()) // the error names logs
	}
	return p, nil
}

// claim takes directory and ports.
func (p *Plane) claim(ctx context.Context) error {
	reserved, portLock, err := reservePorts(p.options.APIServerPort)
	if err != nil {
		return err
	}
	dir, lock, err := claim(ctx, p.options.Root, p.options.Dir)
	if err != nil {
		portLock.release()
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("finding the directory of the plane: %w", err)
	}
	p.dir, p.scratch, p.lock, p.portLock, p.ports = dir, dir, lock, portLock, reserved
	p.launcher = newLauncher()
	p.AuditLog = AuditLog(p.path(auditLogFile))
	return nil
}

func (p *Plane) bringUp(ctx context.Context) error {
	if err := p.writeState(); err != nil {
		return err
	}
	if err := p.writeInputs(); err != nil {
		return err
	}
	for _, part := range APIOnly() {
		if err := p.startPart(part); err != nil {
			return err
		}
		if err := p.waitHealthy(ctx, part); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	for _, part := range p.options.Parts[len(APIOnly()):] {
		if err := p.startPart(part); err != nil {
			return err
		}
		group.Go(func() error { return p.waitHealthy(groupCtx, part) })
	}
	group.Go(func() error { return p.waitCluster(groupCtx) })
	if err := group.Wait(); err != nil {
		return err
	}
	p.mu.Lock()
	p.ready = true
	p.mu.Unlock()
	p.logf("control plane ready in %s", time.Since(p.started).Round(100*time.Millisecond))
	return p.writeState()
}

// writeInputs writes what the parts read: keys, kubeconfigs, policies.
func (p *Plane) writeInputs() error {
	ca, err := p.writeCertificates()
	if err != nil {
		return err
	}
	if err := p.writeKubeconfigs(ca); err != nil {
		return err
	}
	if err := p.writeFile(auditPolicyFile, []byte(auditPolicy)); err != nil {
		return err
	}
	if err := p.writeFile(kwokConfigFile, stages); err != nil {
		return err
	}
	if p.config, err = loadRESTConfig(p.Kubeconfig()); err != nil {
		return err
	}
	p.probe, err = newProbe(p.config)
	return err
}

// useExisting makes a plane of a cluster that somebody else runs.
func useExisting(ctx context.Context, options Options) (*Plane, error) {
	config, err := loadRESTConfig(options.Kubeconfig)
	if err != nil {
		return nil, err
	}
	binaries, err := Build(ctx, BuildOptions{Root: options.Root, Names: []string{kubectl}, Log: options.Log})
	if err != nil {
		return nil, err
	}
	scratch, err := os.MkdirTemp("", "workload-plane-")
	if err != nil {
		return nil, fmt.Errorf("creating a directory for kubeconfigs: %w", err)
	}
	p := &Plane{options: options, binaries: binaries, config: config, scratch: scratch, failed: make(chan error)}
	if state, err := ReadState(filepath.Dir(options.Kubeconfig)); err == nil {
		p.AuditLog = state.AuditLog
	}
	ctx, cancel := context.WithTimeout(ctx, options.ReadyTimeout)
	defer cancel()
	if err := checkReachable(ctx, config); err != nil {
		return nil, errors.Join(fmt.Errorf("the cluster of %s does not answer: %w", options.Kubeconfig, err), os.RemoveAll(scratch))
	}
	return p, nil
}

func (p *Plane) startPart(part Part) error {
	command := exec.Command(p.binaries[string(part)], p.arguments(part)...)
	command.Dir = p.dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TMPDIR=" + os.TempDir(), "KWOK_WORKDIR=" + p.dir}
	proc, err := p.launcher.launch(part, command, p.Logs(part), p.onExit)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.processes[part] = proc
	return nil
}

func (p *Plane) onExit(proc *process) {
	if proc.stopping.Load() {
		return
	}
	p.breaking.Do(func() { // the first failure explains the later ones
		p.failed <- proc.died(p.Logs(proc.part))
		close(p.broken)
	})
}

func binariesOf(parts []Part) []string {
	names := make([]string, 0, len(parts)+1)
	for _, part := range parts {
		names = append(names, string(part))
	}
	return append(names, kubectl)
}
