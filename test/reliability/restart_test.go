package reliability

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// O-07: both replicas are replaced, one after the other, while requests come in and endpoints follow 2 to 5 seconds late. No
// request fails, the next leader leads soon, and nothing is written to children of objects that nobody touched.
func TestRollingRestart(t *testing.T) {
	s := attach(t)
	s.reset(t)
	still := s.makeStill(t)
	l := startLoad(t, s)
	offset, err := s.plane.AuditLog.End()
	if err != nil {
		t.Fatal(err)
	}
	var handovers []time.Duration
	for range *restarts {
		handovers = append(handovers, s.rollingRestart(t)...)
	}
	letFollow(t)
	failures := l.end(t, fmt.Sprintf("%d rolling restarts, %d connections to closed ports", *restarts, s.balancer.refused.Load()))
	if len(failures) > 0 {
		t.Errorf("%d requests failed, the first:\n%s", len(failures), first(failures))
	}
	slices.Sort(handovers)
	t.Logf("%d changes of the leader, after SIGTERM, took: %v", len(handovers), handovers)
	if len(handovers) == 0 {
		t.Error("no replica that was replaced had led")
	}
	for _, took := range handovers {
		if took > *handover {
			t.Errorf("a change of the leader took %s", took)
		}
	}
	s.expectNoWrites(t, offset, still)
}

// The negative control of TestRollingRestart: replicas that stop at once lose the requests of those who do not know it yet.
func TestRestartWithoutDelayFails(t *testing.T) {
	if !*controls {
		t.Log("a negative control: run with -controls")
		return
	}
	s := attach(t)
	s.reset(t, "--shutdown-delay=0s")
	l := startLoad(t, s)
	for range 2 {
		s.rollingRestart(t)
	}
	letFollow(t)
	failures := l.end(t, "2 rolling restarts without a delay")
	if len(failures) == 0 {
		t.Error("no request failed: the load would not notice a missing delay")
	} else {
		t.Logf("the first failures:\n%s", first(failures))
	}
}

// rollingRestart replaces every replica as a Deployment does with maxSurge 1 and maxUnavailable 0. It returns how long the
// changes of the leader took that came with it.
func (s *site) rollingRestart(t *testing.T) []time.Duration {
	t.Helper()
	var handovers []time.Duration
	for range len(s.replicas) {
		s.add(t)
		leader := s.holder(t)
		begun := time.Now()
		s.retire(t)
		if took, changed := s.awaitLeader(t, leader, begun); changed {
			handovers = append(handovers, took)
		}
		// As with a Deployment, those that end are not waited for.
	}
	return handovers
}

// letFollow lets the load go on until all endpoints have followed.
func letFollow(t *testing.T) {
	t.Helper()
	timer := time.NewTimer(mostLag + time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// awaitLeader waits for the next leader. A replica that did not lead gives nothing up, which the Lease shows within a moment.
func (s *site) awaitLeader(t *testing.T, former string, since time.Time) (time.Duration, bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		holder := s.holder(t)
		switch {
		case holder != "" && holder != former:
			return time.Since(since).Round(10 * time.Millisecond), true
		case holder == former && time.Since(since) > time.Second:
			return 0, false
		case time.Since(since) > patience:
			t.Fatalf("nobody leads after %s", patience)
		}
	}
	return 0, false
}

func (s *site) holder(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: operator.Namespace, Name: "workload-operator.example.com"}
	if err := s.client.Get(t.Context(), key, lease); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// makeStill makes objects that nobody touches, in a namespace of their own, and waits until the operator has done its work.
func (s *site) makeStill(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "still-"}}
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	// There is no controller that would make it.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "default"}}
	if err := s.client.Create(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	for _, manifest := range []map[string]any{
		{"apiVersion": "app.example.com/v1", "kind": "WebApp", "spec": map[string]any{"image": "web:1", "replicas": int64(2)}},
		{"apiVersion": "app.example.com/v1alpha1", "kind": "WebApp", "spec": map[string]any{"image": map[string]any{"repository": "web"}}},
		{"apiVersion": "batch.example.com/v1", "kind": "PodSet", "spec": map[string]any{"image": "web:1", "replicas": int64(3)}},
	} {
		for i := range 3 {
			object := &unstructured.Unstructured{Object: manifest}
			object = object.DeepCopy()
			object.SetNamespace(namespace.Name)
			object.SetName(fmt.Sprintf("%s-%d", strings.ReplaceAll(strings.ToLower(object.GetAPIVersion()), "/", "."), i))
			object.SetName(strings.ReplaceAll(object.GetName(), ".", "-"))
			if err := s.client.Create(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
	offset, err := s.plane.AuditLog.End()
	if err != nil {
		t.Fatal(err)
	}
	// It has begun when the first object has a status, and rests when three seconds pass without a write.
	eventually(t, "the operator has begun", func() error {
		var status string
		status, err = s.observed(t, namespace.Name)
		if err == nil && status == "-1" {
			err = errors.New("not observed yet")
		}
		return err
	})
	quietSince := time.Now()
	eventually(t, "the operator comes to rest", func() error {
		var writes []string
		if writes, offset, err = s.writes(offset, namespace.Name); err != nil {
			return err
		}
		if len(writes) > 0 {
			quietSince = time.Now()
		}
		if quiet := time.Since(quietSince); quiet < 3*time.Second {
			return fmt.Errorf("quiet for %s", quiet)
		}
		return nil
	})
	return namespace.Name
}

// observed is the observedGeneration of an object in a namespace.
func (s *site) observed(t *testing.T, namespace string) (string, error) {
	list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "batch.example.com/v1", "kind": "PodSetList"}}
	if err := s.client.List(t.Context(), list, client.InNamespace(namespace)); err != nil || len(list.Items) == 0 {
		return "-1", err
	}
	generation, found, err := unstructured.NestedInt64(list.Items[len(list.Items)-1].Object, "status", "observedGeneration")
	if !found {
		return "-1", err
	}
	return fmt.Sprint(generation), err
}

// writes are the requests of the operator in a namespace that change something, since an offset of the audit log.
func (s *site) writes(offset int64, namespace string) ([]string, int64, error) {
	var writes []string
	offset, err := s.plane.AuditLog.Read(offset, func(r *controlplane.Request) {
		reading := slices.Contains([]string{"get", "list", "watch"}, r.Verb)
		if r.Namespace == namespace && strings.HasPrefix(r.UserAgent, "workload-operator/") && !reading {
			writes = append(writes, fmt.Sprintf("%s %s/%s %s", r.Verb, r.Resource, r.Subresource, r.Name))
		}
	})
	return writes, offset, err
}

func (s *site) expectNoWrites(t *testing.T, offset int64, namespace string) {
	t.Helper()
	writes, _, err := s.writes(offset, namespace)
	if err != nil {
		t.Fatal(err)
	}
	if len(writes) > 0 {
		t.Errorf("the change of the leader made %d writes: %v", len(writes), writes)
	}
}
