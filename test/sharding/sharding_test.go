package sharding

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// rest is how writers gives the operator without a name.
const rest = "rest"

// Each operator writes in its own namespaces; one that wants those of another one stays out and says why; a namespace moves without
// a moment of two writers; and after a leader died, only its own standby goes on.
func TestShards(t *testing.T) {
	s := newSite(t, "--except-namespaces=a,b,c,d")
	s.namespaces("a", "b", "c", "d", "e")
	a, b := s.shard("a", "a,c"), s.shard("b", "b")
	s.ready(a, b)
	for _, namespace := range []string{"b", "a", "c", "e"} {
		s.create(namespace)
	}

	// Two want what others have, and say so. The leader of b dies; its standby, to be seen below, comes before the other one.
	standby, thief, c := s.shard("b", "b"), s.shard("thief", "b"), s.shard("c", "c,d")
	s.comesUp("b")
	s.ready(standby)
	s.refused(thief, `namespace b is claimed by shard "b"`)
	b.Kill()
	s.refused(c, `namespace c is claimed by shard "a"`)
	for namespace, writer := range map[string]string{"a": "a", "b": "b", "c": "a", "e": rest} {
		s.comesUp(namespace)
		s.Expect(s.writers(namespace)).To(gomega.Equal([]string{writer}), "namespace "+namespace)
	}

	// c moves from a to c while there is something to do in it all the time.
	idle := s.busy("c")
	next := s.shard("a", "a")
	s.ready(next)
	s.Consistently(func() []string { return s.writers("c") }, time.Second, 4*interval).Should(gomega.Equal([]string{"a"}))
	s.Expect(c.readiness(t.Context())).NotTo(gomega.Succeed())
	s.stop(a)
	s.ready(c)
	s.Eventually(func() []string { return s.writers("c") }, patience, interval).Should(gomega.HaveLen(2))
	idle()
	s.follows("c", 2)
	s.follows("a", 3)
	s.Expect(s.writers("c")).To(gomega.Equal([]string{"a", "c"}), "one after the other")
	s.Expect(s.writers("a")).To(gomega.Equal([]string{"a"}))

	// The Lease of the dead leader has to run out first.
	s.follows("b", 3)
	s.Expect(s.writers("b")).To(gomega.Equal([]string{"b"}))
	s.refused(thief, `namespace b is claimed by shard "b"`)
	s.Expect(s.log(thief)).NotTo(gomega.ContainSubstring("Successfully acquired lease"))
	// Which Pod goes depends on the zones of nodes, which are in no namespace.
	s.follows("e", 4)
	s.follows("e", 1)
	s.Expect(s.writers("e")).To(gomega.Equal([]string{rest}))
}

// writers are those who wrote in a namespace, in the order in which they did. One that wrote before and after another one is there
// twice. Events are sent late, and by nobody who decides anything.
func (s *site) writers(namespace string) []string {
	s.t.Helper()
	var writes []controlplane.Request
	_, err := s.plane.AuditLog.Read(0, func(r *controlplane.Request) {
		if r.Namespace == namespace && r.User == "system:serviceaccount:"+operator.Namespace+":"+serviceAccount && r.Resource != "events" &&
			slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) {
			writes = append(writes, *r)
		}
	})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	slices.SortStableFunc(writes, func(x, y controlplane.Request) int { return x.Time.Compare(y.Time) })
	var names []string
	for _, r := range writes {
		_, name, is := strings.Cut(r.UserAgent, " shard/")
		if !is {
			name = rest
		}
		names = append(names, name)
	}
	return slices.Compact(names)
}

func (s *site) create(namespace string) {
	s.t.Helper()
	at := metav1.ObjectMeta{Namespace: namespace, Name: "x"}
	app := &appv1.WebApp{ObjectMeta: at, Spec: appv1.WebAppSpec{Replicas: new(int32(1))}}
	set := &batchv1.PodSet{ObjectMeta: at, Spec: batchv1.PodSetSpec{Replicas: new(int32(2))}}
	app.Spec.Image, set.Spec.Image = "web:1", "web:1"
	s.Expect(s.client.Create(s.t.Context(), app)).To(gomega.Succeed())
	s.Expect(s.client.Create(s.t.Context(), set)).To(gomega.Succeed())
}

// comesUp waits until both objects of a namespace are ready.
func (s *site) comesUp(namespace string) {
	s.t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: "x"}
	s.Eventually(func() error {
		app, set := &appv1.WebApp{}, &batchv1.PodSet{}
		if err := s.client.Get(s.t.Context(), key, app); err != nil {
			return err
		}
		if err := s.client.Get(s.t.Context(), key, set); err != nil {
			return err
		}
		for kind, conditions := range map[string][]metav1.Condition{"WebApp": app.Status.Conditions, "PodSet": set.Status.Conditions} {
			if !meta.IsStatusConditionTrue(conditions, workloadv1.ConditionReady) {
				return fmt.Errorf("%s %s is not ready: %v", kind, key, conditions)
			}
		}
		return nil
	}, patience, interval).Should(gomega.Succeed())
}

// scale patches both objects of a namespace.
func (s *site) scale(namespace string, replicas int) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	at := metav1.ObjectMeta{Namespace: namespace, Name: "x"}
	if err := s.client.Patch(s.t.Context(), &appv1.WebApp{ObjectMeta: at}, patch); err != nil {
		return err
	}
	return s.client.Patch(s.t.Context(), &batchv1.PodSet{ObjectMeta: at}, patch)
}

// follows scales both objects of a namespace, and waits until somebody has done it.
func (s *site) follows(namespace string, replicas int) {
	s.t.Helper()
	s.Expect(s.scale(namespace, replicas)).To(gomega.Succeed())
	s.Eventually(func() error {
		deployment := &appsv1.Deployment{}
		if err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: namespace, Name: "x" + appv1.DeploymentSuffix}, deployment); err != nil {
			return err
		}
		pods := &corev1.PodList{}
		if err := s.client.List(s.t.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{batchv1.LabelPodSet: "x"}); err != nil {
			return err
		}
		alive := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
		if got := *deployment.Spec.Replicas; int(got) != replicas || len(alive) != replicas {
			return fmt.Errorf("namespace %s: %d replicas of the Deployment and %d Pods of the PodSet, want %d", namespace, got, len(alive), replicas)
		}
		return nil
	}, patience, interval).Should(gomega.Succeed())
}

// busy scales the objects of a namespace up and down until the function that it returns is called.
func (s *site) busy(namespace string) (idle func()) {
	done := make(chan struct{})
	var working sync.WaitGroup
	working.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			case <-s.t.Context().Done():
				return
			case <-ticker.C:
			}
			if err := s.scale(namespace, 1+i%3); err != nil && s.t.Context().Err() == nil {
				s.t.Errorf("scaling in namespace %s: %v", namespace, err)
			}
		}
	})
	return func() {
		close(done)
		working.Wait()
	}
}
