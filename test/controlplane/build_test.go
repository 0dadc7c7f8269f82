package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// fakeRepository is a repository whose go command is a script: it notes that it ran, runs body with the output path
// in $out, and by default writes a binary.
func fakeRepository(t *testing.T, body string) (root string, runs func() int) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, "tools", "controlplane", "go.mod"), "module pins\n")
	write(t, filepath.Join(root, "tools", "controlplane", "go.sum"), "")
	if body == "" {
		body = `echo binary > "$out"`
	}
	script := `#!/bin/sh
echo ran >> "` + root + `/runs"
while [ "$1" != -o ]; do shift; done
out=$2
` + body + "\n"
	path := filepath.Join(root, "bin", "go")
	write(t, path, script)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path)+":/usr/bin:/bin")
	t.Setenv("KUBEBUILDER_ASSETS", "")
	return root, func() int {
		content, err := os.ReadFile(filepath.Join(root, "runs"))
		if err != nil {
			return 0
		}
		return bytes.Count(content, []byte("ran"))
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBuildOnlyWhatIsStale(t *testing.T) {
	root, runs := fakeRepository(t, "")
	names := []string{string(Etcd), string(Kwok)}
	var log bytes.Buffer
	build := func(reason string, want int) {
		t.Helper()
		binaries, err := Build(t.Context(), BuildOptions{Root: root, Names: names, Log: &log})
		if err != nil {
			t.Fatal(err)
		}
		if got := runs(); got != want {
			t.Errorf("%s: go ran %d times in all, want %d", reason, got, want)
		}
		for _, name := range names {
			if _, err := os.Stat(binaries[name]); err != nil {
				t.Error(err)
			}
		}
	}
	build("nothing is there", 2)
	build("nothing changed", 2)
	for _, line := range []string{"[1/2] etcd: building", "[2/2] kwok: building", "[2/2] kwok: built in 0s"} {
		if !strings.Contains(log.String(), line+"\n") {
			t.Errorf("no progress line %q in:\n%s", line, log.String())
		}
	}
	if err := os.Remove(filepath.Join(root, ".plane", "bin", "kwok")); err != nil {
		t.Fatal(err)
	}
	build("one binary is gone", 3)
	write(t, filepath.Join(root, "tools", "controlplane", "go.sum"), "other\n")
	build("the pinned modules changed", 5)
}

func TestBuildOnceAmongMany(t *testing.T) {
	root, runs := fakeRepository(t, `/bin/sleep 0.3; echo binary > "$out"`)
	var group sync.WaitGroup
	errs := make([]error, 5)
	for i := range errs {
		group.Go(func() {
			_, errs[i] = Build(t.Context(), BuildOptions{Root: root, Names: []string{string(Etcd)}})
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if got := runs(); got != 1 {
		t.Errorf("go ran %d times, want 1", got)
	}
}

func TestBuildErrors(t *testing.T) {
	tests := map[string]struct {
		reason  string
		body    string
		prepare func(t *testing.T, root string)
		want    string
	}{
		"failed": {
			reason: "the last output and the log are named",
			body:   `echo "main.go:1: undefined: x" >&2; exit 1`,
			want:   "building etcd failed (exit status 1): main.go:1: undefined: x; log: ROOT/.plane/build/etcd.log",
		},
		"no go": {
			reason:  "the user is told what to install",
			prepare: func(t *testing.T, _ string) { t.Setenv("PATH", "/nowhere") },
			want:    "no go command in PATH: install Go from https://go.dev/dl to build the control plane",
		},
		"assets without the binary": {
			reason:  "the choice of the user is not overruled in silence",
			prepare: func(t *testing.T, root string) { t.Setenv("KUBEBUILDER_ASSETS", root) },
			want:    "KUBEBUILDER_ASSETS=ROOT has no etcd: unset it to build one, or put it there",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			root, _ := fakeRepository(t, tc.body)
			if tc.prepare != nil {
				tc.prepare(t, root)
			}
			_, err := Build(t.Context(), BuildOptions{Root: root, Names: []string{string(Etcd)}})
			want := strings.ReplaceAll(tc.want, "ROOT", root)
			if err == nil || err.Error() != want {
				t.Errorf("%s: got error %v, want %s", tc.reason, err, want)
			}
			if leftovers, _ := filepath.Glob(filepath.Join(root, ".plane", "bin", "*")); len(leftovers) > 0 {
				t.Errorf("a failed build left %v", leftovers)
			}
		})
	}
}

// A build that is given up ends its compilers at once.
func TestBuildCancelled(t *testing.T) {
	root, _ := fakeRepository(t, `/bin/sleep 60 & echo $! > "`+`$out.pid"; wait`)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := Build(ctx, BuildOptions{Root: root, Names: []string{string(Etcd)}})
	if err == nil || err.Error() != "building etcd: context deadline exceeded" {
		t.Errorf("got error %v, want a deadline", err)
	}
	var pid int
	content, err := os.ReadFile(filepath.Join(root, ".plane", "bin", "etcd.tmp.pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(content), &pid); err != nil {
		t.Fatal(err)
	}
	// The signal was sent, and takes its moment. An orphan then waits as a zombie for whoever adopts it.
	NewWithT(t).Eventually(func() bool {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || slices.Contains(strings.Fields(string(status)), "Z")
	}).WithTimeout(timeout).Should(BeTrue(), "the compiler is gone")
}

func TestBuildFromAssets(t *testing.T) {
	root, runs := fakeRepository(t, "")
	assets := t.TempDir()
	for _, name := range []string{string(Etcd), string(APIServer), kubectl} {
		write(t, filepath.Join(assets, name), "")
	}
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	binaries, err := Build(t.Context(), BuildOptions{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(assets, "etcd"); binaries[string(Etcd)] != want {
		t.Errorf("etcd is %s, want %s", binaries[string(Etcd)], want)
	}
	if got := runs(); got != 3 {
		t.Errorf("go ran %d times, want 3: controller manager, scheduler, kwok", got)
	}
}
