package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// buildProgress is how often a running build says that it is alive.
const buildProgress = 10 * time.Second

func buildArguments() []string {
	version, _, _ := strings.Cut(strings.TrimPrefix(kubernetesVersion, "v"), "-")
	numbers := strings.Split(version, ".")
	const variable = "-X k8s.io/component-base/version."
	return []string{
		"build", "-mod=readonly", "-trimpath", "-ldflags",
		strings.Join([]string{
			"-s -w",
			variable + "gitVersion=" + kubernetesVersion,
			variable + "gitMajor=" + numbers[0],
			variable + "gitMinor=" + numbers[1],
		}, " "),
	}
}

// buildEnvironment overrides what the user may have set for other builds.
func buildEnvironment() []string {
	return []string{"CGO_ENABLED=0", "GOWORK=off", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}
}

// runGo runs go build with its output in a log, and reports progress.
func (b *builder) runGo(ctx context.Context, name, output, step string) error {
	goBinary, err := exec.LookPath("go")
	if err != nil {
		return errors.New("no go command in PATH: install Go from https://go.dev/dl to build the control plane")
	}
	log, err := os.Create(b.logPath(name))
	if err != nil {
		return fmt.Errorf("creating a build log: %w", err)
	}
	defer log.Close()
	command := exec.CommandContext(ctx, goBinary, append(buildArguments(), "-o", output, packages[name])...)
	command.Dir = b.sources()
	command.Env = append(os.Environ(), buildEnvironment()...)
	command.Stdout, command.Stderr = log, log
	// A process group, so that stopping the build stops the compilers that it runs.
	command.SysProcAttr = childAttributes()
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := b.runWithProgress(command, name, step); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("building %s: %w", name, context.Cause(ctx))
		}
		return fmt.Errorf("building %s failed (%w): %s", name, err, lastWords(b.logPath(name)))
	}
	return nil
}

func (b *builder) runWithProgress(command *exec.Cmd, name, step string) error {
	finished := make(chan error, 1)
	go func() {
		// The death signal of the parent follows the thread that starts the child, so it must not end before the build.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		finished <- command.Run()
	}()
	started, seen := time.Now(), int64(0)
	ticks := time.NewTicker(buildProgress)
	defer ticks.Stop()
	for {
		select {
		case err := <-finished:
			return err
		case <-ticks.C:
			// go writes a line for each module that it downloads, and nothing while it compiles.
			doing, size := "building", b.logSize(name)
			if size > seen {
				doing, seen = "downloading modules", size
			}
			fmt.Fprintf(b.log, "%s %s (%s)\n", step, doing, time.Since(started).Round(time.Second))
		}
	}
}

func (b *builder) logSize(name string) int64 {
	info, err := os.Stat(b.logPath(name))
	if err != nil {
		return 0
	}
	return info.Size()
}
