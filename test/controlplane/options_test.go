package controlplane

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseParts(t *testing.T) {
	tests := map[string]struct {
		list string
		want []Part
		err  string
	}{
		"names":   {list: "kwok, kube-scheduler", want: []Part{Kwok, Scheduler}},
		"short":   {list: "api,controllers,scheduler", want: []Part{APIServer, ControllerManager, Scheduler}},
		"unknown": {list: "etcd,kubelet", err: `unknown part "kubelet": choose from etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok`},
		"empty":   {list: "etcd,", err: `unknown part "": choose from etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseParts(tc.list)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if (tc.err == "") != (err == nil) || err != nil && err.Error() != tc.err {
				t.Errorf("got error %v, want %q", err, tc.err)
			}
		})
	}
}

func TestOptionsDefaults(t *testing.T) {
	options := Options{Parts: []Part{Kwok}}
	if err := options.setDefaults(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Part{Etcd, APIServer, Kwok}, options.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if options.Nodes != 6 {
		t.Errorf("got %d nodes, want 6", options.Nodes)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held(path) {
		t.Error("a lock that was never taken is held")
	}
	first, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	if !held(path) {
		t.Error("a taken lock is not held")
	}
	if _, err := tryLock(path); !errors.Is(err, errLocked) {
		t.Errorf("second lock: got error %v, want errLocked", err)
	}
	if _, err := graceLock(t.Context(), path); !errors.Is(err, errLocked) {
		t.Errorf("second lock after a second: got error %v, want errLocked", err)
	}
	// Somebody opened the file, and before it is locked its holder removes it and lets go, as Stop does.
	late, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	first.release()
	if _, err := lockOpened(late, path); !errors.Is(err, errLocked) {
		t.Errorf("lock on a file without a name: got error %v, want errLocked", err)
	}
	second, err := tryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	second.release()
}
