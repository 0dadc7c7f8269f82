package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// kubernetesVersion is what the binaries report; tools/controlplane/go.mod pins what they are.
const kubernetesVersion = "v1.37.2"

// packages names the Go package of each binary.
var packages = map[string]string{
	string(Etcd):              "go.etcd.io/etcd/server/v3",
	string(APIServer):         "k8s.io/kubernetes/cmd/kube-apiserver",
	string(ControllerManager): "k8s.io/kubernetes/cmd/kube-controller-manager",
	string(Scheduler):         "k8s.io/kubernetes/cmd/kube-scheduler",
	string(Kwok):              "sigs.k8s.io/kwok/cmd/kwok",
	kubectl:                   "k8s.io/kubernetes/cmd/kubectl",
}

// Binaries maps the name of a binary to its path.
type Binaries map[string]string

// BuildOptions says what [Build] builds.
type BuildOptions struct {
	// Root of the repository; empty finds it from the working directory.
	Root string
	// Names of the binaries; nil means all.
	Names []string
	// Log receives progress lines; nil discards them.
	Log io.Writer
}

// Build returns the binaries of a control plane, and first builds those that are missing or were built from other
// sources. It takes minutes the first time. Processes that build at once take turns, and build once.
// If KUBEBUILDER_ASSETS is set, etcd, kube-apiserver and kubectl come from that directory.
func Build(ctx context.Context, options BuildOptions) (Binaries, error) {
	b, err := newBuilder(options)
	if err != nil {
		return nil, err
	}
	found := Binaries{}
	var owned []string
	for _, name := range b.names {
		path, err := fromAssets(name)
		if err != nil {
			return nil, err
		}
		if path == "" {
			path = b.path(name)
			owned = append(owned, name)
		}
		found[name] = path
	}
	if len(b.stale(owned)) == 0 {
		return found, nil
	}
	lock, err := waitLock(ctx, filepath.Join(planesDir(b.root), "build.lock"), func() {
		fmt.Fprintln(b.log, "another process builds the control plane; waiting for it")
	})
	if err != nil {
		return nil, err
	}
	defer lock.release()
	return found, b.buildAll(ctx, b.stale(owned))
}

// BuildFor builds what Start would build for the same options.
func BuildFor(ctx context.Context, options Options) error {
	if err := options.setDefaults(); err != nil {
		return err
	}
	_, err := Build(ctx, BuildOptions{Root: options.Root, Names: binariesOf(options.Parts), Log: options.Log})
	return err
}

// fromAssets returns the path of a binary that KUBEBUILDER_ASSETS provides, or nothing.
func fromAssets(name string) (string, error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" || !slices.Contains([]string{string(Etcd), string(APIServer), kubectl}, name) {
		return "", nil
	}
	path, err := filepath.Abs(filepath.Join(assets, name))
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", name, err)
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("KUBEBUILDER_ASSETS=%s has no %s: unset it to build one, or put it there", assets, name)
	}
	return path, nil
}

// builder builds binaries of one repository.
type builder struct {
	root  string
	names []string
	log   io.Writer
	key   string // of everything that goes into a binary, but its package
}

func newBuilder(options BuildOptions) (*builder, error) {
	b := &builder{root: options.Root, names: options.Names, log: options.Log}
	if b.log == nil {
		b.log = io.Discard
	}
	if b.names == nil {
		b.names = binariesOf(AllParts())
	}
	if b.root == "" {
		root, err := FindRoot()
		if err != nil {
			return nil, err
		}
		b.root = root
	}
	hash := sha256.New()
	for _, file := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(filepath.Join(b.sources(), file))
		if err != nil {
			return nil, fmt.Errorf("reading the pinned modules of the control plane: %w", err)
		}
		hash.Write(content)
	}
	fmt.Fprintln(hash, buildArguments(), buildEnvironment(), runtime.Version())
	b.key = hex.EncodeToString(hash.Sum(nil))
	return b, nil
}

func (b *builder) sources() string          { return filepath.Join(b.root, "tools", "controlplane") }
func (b *builder) path(name string) string  { return filepath.Join(planesDir(b.root), "bin", name) }
func (b *builder) stamp(name string) string { return b.path(name) + ".stamp" }
func (b *builder) logPath(name string) string {
	return filepath.Join(planesDir(b.root), "build", name+".log")
}

// stale returns the binaries that are missing or were built from something else.
func (b *builder) stale(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		stamp, err := os.ReadFile(b.stamp(name))
		if err != nil || strings.TrimSpace(string(stamp)) != b.key {
			return false
		}
		_, err = os.Stat(b.path(name))
		return err == nil
	})
}

func (b *builder) buildAll(ctx context.Context, names []string) error {
	for i, name := range names {
		if packages[name] == "" {
			return fmt.Errorf("unknown binary %q", name)
		}
		started := time.Now()
		step := fmt.Sprintf("[%d/%d] %s:", i+1, len(names), name)
		fmt.Fprintln(b.log, step, "building")
		if err := b.build(ctx, name, step); err != nil {
			return err
		}
		fmt.Fprintln(b.log, step, "built in", time.Since(started).Round(time.Second))
	}
	return nil
}

// build makes one binary and moves it into place, so that a reader never sees half of it.
func (b *builder) build(ctx context.Context, name, step string) error {
	for _, file := range []string{b.path(name), b.logPath(name)} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("creating the directory of %s: %w", file, err)
		}
	}
	unfinished := b.path(name) + ".tmp"
	err := b.runGo(ctx, name, unfinished, step)
	if err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := os.Rename(unfinished, b.path(name)); err != nil {
		return fmt.Errorf("installing %s: %w", name, err)
	}
	return writeFileAtomically(b.stamp(name), []byte(b.key+"\n"))
}
