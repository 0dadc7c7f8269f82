package upgrade

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/test/controlplane"
)

// M-13: the operator alone is upgraded while objects run, to a build of another release. It finds everything as it wants it.
func TestOperatorUpgradeWritesNothing(t *testing.T) {
	r := enter(t, config.StepR3)
	r.create(newer, *quiet)
	r.ready()
	before := r.look(older, newer)
	offset, err := r.plane.AuditLog.End()
	r.Expect(err).NotTo(gomega.HaveOccurred())
	r.stop()
	release := r.operator.Use(nextRelease(t))
	defer func() {
		r.stop()
		r.operator.Use(release)
	}()
	r.start()

	// An object elsewhere that becomes ready proves that the new process reconciles.
	other := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	other.SetGenerateName("upgrade-proof-")
	r.Expect(r.client.Create(t.Context(), other)).To(gomega.Succeed())
	here := r.namespace
	r.namespace = other.GetName()
	r.create(newer, 1)
	r.ready()
	r.Expect(r.dynamic.Resource(namespaces).Delete(t.Context(), r.namespace, metav1.DeleteOptions{})).To(gomega.Succeed())
	r.namespace = here
	r.dwell()

	elsewhere := 0
	_, err = r.plane.AuditLog.Read(offset, func(q *controlplane.Request) {
		reads := q.Verb == "get" || q.Verb == "list" || q.Verb == "watch"
		switch {
		case reads || !strings.HasSuffix(q.User, ":workload-operator-controller-manager"):
		case q.Namespace == here:
			t.Errorf("%s %s: %d", q.Verb, q.Path, q.Code)
		case q.Namespace == other.GetName():
			elsewhere++
		}
	})
	r.Expect(err).NotTo(gomega.HaveOccurred())
	r.Expect(elsewhere).To(gomega.BeNumerically(">", 0), "writes of the new process show in the audit log")
	r.unchanged(before, older, newer)
}

// nextRelease builds the manager as of another release.
func nextRelease(t *testing.T) string {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w -X main.release=v99.0.0", "-o", binary, "./cmd/manager")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, out)
	}
	return binary
}

// etcd and kube-apiserver crash during a migration: nothing is lost, and nothing is written more often than that explains.
func TestMigrationSurvivesCrashes(t *testing.T) {
	r := enter(t, config.StepR2)
	const count = 30
	for _, k := range kinds {
		for i := range count {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"image": "nginx", "suspend": true, "env": []any{map[string]any{"name": "Z", "value": fmt.Sprint(i)}, map[string]any{"name": "A"}},
			}}}
			object.SetGroupVersionKind(k.WithVersion(newer))
			object.SetName(fmt.Sprintf("crash-%d", i))
			_, err := r.of(k, newer).Create(t.Context(), object, metav1.CreateOptions{})
			r.Expect(err).NotTo(gomega.HaveOccurred())
		}
	}
	r.ready()
	r.step(config.StepR3)
	before, written := r.look(older, newer), r.writes()
	r.Expect(r.stored()).To(gomega.Equal(map[string]int{older: 2 * count}))

	done := make(chan struct{})
	go func() {
		defer close(done)
		for !r.tryToMigrate() && t.Context().Err() == nil {
			r.pause(time.Second)
		}
	}()
	for i := range *kills {
		for j, part := range controlplane.APIOnly() {
			r.pause(time.Duration(1000+400*((i+j)%4)) * time.Millisecond)
			r.Expect(r.plane.Kill(part)).To(gomega.Succeed())
			r.Expect(r.plane.Restart(t.Context(), part)).To(gomega.Succeed())
		}
	}
	r.Eventually(func() <-chan struct{} {
		if !r.running() {
			r.launch() // a manager that lost its Lease ends, and a Deployment starts it again
		}
		return done
	}, 5*time.Minute, interval).Should(gomega.BeClosed())
	r.start()
	r.Expect(r.stored()).To(gomega.Equal(map[string]int{newer: 2 * count}))
	r.Expect(r.storedVersions(webApps)).To(gomega.Equal([]string{newer}))
	r.Expect(r.storedVersions(podSets)).To(gomega.Equal([]string{newer}))
	for key, now := range r.writes() {
		if more := now - written[key]; more < 1 || more > 1+2*int64(*kills) {
			t.Errorf("%s was written %d times during the migration", key, more)
		}
	}
	r.unchanged(before, older, newer)
}

// tryToMigrate runs the migration slowly enough to be hit, and says whether it came to its end.
func (r *road) tryToMigrate() bool {
	engine, err := migration.New(r.plane.RESTConfig(), migration.Options{QPS: 20, SettleDelay: settle, Poll: interval})
	if err != nil {
		return false
	}
	for _, name := range []string{webApps, podSets} {
		if report, err := engine.Run(r.t.Context(), name); err != nil || !report.Verified {
			return false
		}
	}
	return true
}

// writes is how often each object was written to etcd.
func (r *road) writes() map[string]int64 {
	r.t.Helper()
	counts := map[string]int64{}
	for _, entry := range r.entries(r.namespace + "/") {
		counts[entry.Key] = entry.Writes
	}
	return counts
}
