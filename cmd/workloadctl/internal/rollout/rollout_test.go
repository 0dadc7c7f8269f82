package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func base() *Target {
	return &Target{
		Kind: PodSet, Object: &batchv1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "set", Generation: 3}}, observed: 3, replicas: 2, updated: 2,
		current: "new", conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}},
	}
}

func TestProgress(t *testing.T) {
	cases := map[string]struct {
		reason string
		mutate func(*Target)
		state  State
		want   string
	}{
		"done":        {"everything is as it should be", func(*Target) {}, Done, "2 of 2 replicas are up to date"},
		"unseen":      {"conditions are of another generation", func(t *Target) { t.observed = 2 }, Progressing, "has not seen"},
		"deleted":     {"it does not come to be", func(t *Target) { t.Object.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, Failed, "being deleted"},
		"stalled":     {"it does not go on", func(t *Target) { t.set("Stalled", "True") }, Failed, "StalledReason: Stalled message"},
		"reconciling": {"it goes on", func(t *Target) { t.set("Reconciling", "True") }, Progressing, "Reconciling message"},
		"not ready":   {"the rest is to come", func(t *Target) { t.set("Ready", "False") }, Progressing, "Ready message"},
		"no word":     {"before the first status", func(t *Target) { t.conditions = nil }, Progressing, "2 of 2"},
		"paused":      {"somebody holds it", func(t *Target) { t.paused, t.updated = true, 1 }, Progressing, "paused"},
		"behind":      {"a restart is known to the Deployment alone", func(t *Target) { t.behind = true }, Progressing, "Deployment"},
		"on delete":   {"the others wait for somebody", func(t *Target) { t.onDelete, t.updated = true, 1 }, Done, "OnDelete"},
		"partition":   {"the others are held back on purpose", func(t *Target) { t.updated = 1 }, Done, "partition"},
		"suspended":   {"no Pods are to be", func(t *Target) { t.suspended = true }, Done, "suspended"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			target := base()
			c.mutate(target)
			if state, message := Progress(target); state != c.state || !strings.Contains(message, c.want) {
				t.Errorf("%s: got %s: %s", c.reason, state, message)
			}
		})
	}
}

// set makes a condition what the only conditions are.
func (t *Target) set(kind string, status metav1.ConditionStatus) {
	t.conditions = []metav1.Condition{{Type: kind, Status: status, Reason: kind + "Reason", Message: kind + " message"}}
}

func TestOfPods(t *testing.T) {
	pod := func(name, revision string, age time.Duration, ready corev1.ConditionStatus) corev1.Pod {
		return corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{batchv1.LabelRevision: revision}, CreationTimestamp: metav1.NewTime(noon.Add(-age)),
				OwnerReferences: []metav1.OwnerReference{{UID: "set", Controller: new(true)}},
			},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "sidecar", Image: "s"}, {Name: "app", Image: "set:" + revision}}},
			Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
	}
	stranger := pod("c", "strange", time.Hour, corev1.ConditionTrue)
	stranger.OwnerReferences = nil
	got := ofPods(base(), []corev1.Pod{pod("a", "new", time.Minute, corev1.ConditionFalse), pod("b", "old", time.Hour, corev1.ConditionTrue), pod("d", "old", 2*time.Hour, corev1.ConditionTrue), stranger})
	want := []Revision{
		{Revision: "old", Created: noon.Add(-2 * time.Hour), Image: "set:old", Pods: 2, Ready: 2},
		{Revision: "new", Created: noon.Add(-time.Minute), Image: "set:new", Pods: 1, Current: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOfReplicaSets(t *testing.T) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Annotations: map[string]string{deploymentRevision: "10"}}}
	set := func(revision string) appsv1.ReplicaSet {
		return appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{deploymentRevision: revision, changeCause: "because"}, OwnerReferences: []metav1.OwnerReference{{UID: "d", Controller: new(true)}}},
			Status:     appsv1.ReplicaSetStatus{Replicas: 2, ReadyReplicas: 1},
		}
	}
	got := ofReplicaSets(d, []appsv1.ReplicaSet{set("10"), set("9"), {}})
	want := []Revision{{Revision: "9", Pods: 2, Ready: 1, Cause: "because"}, {Revision: "10", Pods: 2, Ready: 1, Cause: "because", Current: true}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers are compared as numbers (-want +got):\n%s", diff)
	}
}

func TestRestartRefuses(t *testing.T) {
	for want, mutate := range map[string]func(*Target){
		"is suspended":     func(t *Target) { t.suspended = true },
		"is paused":        func(t *Target) { t.paused = true },
		"is being deleted": func(t *Target) { t.Object.SetDeletionTimestamp(&metav1.Time{Time: noon}) },
	} {
		target := &Target{Kind: WebApp, Object: &appv1.WebApp{}}
		mutate(target)
		if err := Restart(t.Context(), nil, target, noon); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
