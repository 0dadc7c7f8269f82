package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/example/workload-operator/test/controlplane"
)

// repository makes an empty one the working directory, with planes that seem to run.
func repository(t *testing.T, planes ...string) {
	t.Helper()
	root := t.TempDir()
	t.Chdir(root)
	if err := os.WriteFile("go.mod", []byte("module github.com/example/workload-operator\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, plane := range planes {
		dir := filepath.Join(root, ".plane", plane)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := os.Create(dir + ".lock")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { lock.Close() })
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		state, err := json.Marshal(controlplane.State{PID: 42, Ready: true, Kubeconfig: dir + "/kubeconfig"})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "plane.json"), state, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever asks without a name sees the plane of make run, and is told the names of the others.
func TestStatusWithoutName(t *testing.T) {
	for name, c := range map[string]struct {
		planes    []string
		asked     bool
		want, err string
	}{
		"nothing":    {nil, false, "", `plane "default" does not run: start it with plane up`},
		"by name":    {[]string{"run/plane-1"}, true, "", `plane "default" does not run: start it with plane up`},
		"a name":     {[]string{"blue", "build"}, false, "", `plane "default" does not run: start it with plane up; plane "blue" runs: plane status --name blue`},
		"of a run":   {[]string{"blue", "run/plane-1"}, false, "plane without a name (of make run, or of a test): ready, process 42, ", ""},
		"of default": {[]string{"default", "run/plane-1"}, false, `plane "default": ready, process 42, `, ""},
	} {
		t.Run(name, func(t *testing.T) {
			repository(t, c.planes...)
			var out bytes.Buffer
			err := runStatus(t.Context(), defaultName, c.asked, &out)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err || !strings.HasPrefix(out.String(), c.want) {
				t.Errorf("got %q and\n%s", said, out.String())
			}
			if c.want != "" && !strings.Contains(out.String(), "/kubeconfig\n") {
				t.Errorf("nothing says how to use it:\n%s", out.String())
			}
		})
	}
}
