package webapp

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// summary is what a user looks at first.
type summary struct {
	Phase   appv1.Phase
	Ready   string // reason; "True " is put before it when the condition is true
	Message string
	Others  string // which of Reconciling and Stalled are true
	Wake    time.Duration
}

func summaryOf(status appv1.WebAppStatus, wake time.Duration) summary {
	s := summary{Phase: status.Phase, Wake: wake}
	if c := meta.FindStatusCondition(status.Conditions, workloadv1.ConditionReady); c != nil {
		s.Ready, s.Message = c.Reason, c.Message
		if c.Status == metav1.ConditionTrue {
			s.Ready = "True " + c.Reason
		}
	}
	for _, kind := range []string{workloadv1.ConditionReconciling, workloadv1.ConditionStalled} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			s.Others = join(s.Others, kind, c.Reason)
		}
	}
	return s
}

var (
	finished = reports(appsv1.DeploymentProgressing, corev1.ConditionTrue, rolloutFinished, "x")
	underWay = reports(appsv1.DeploymentProgressing, corev1.ConditionTrue, "ReplicaSetUpdated", "x")
	failing  = reports(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate",
		`pods "my-app-deploy-6f7c9-x2x4z" is forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2`)
)

func TestStatus(t *testing.T) {
	suspended := func(w *appv1.WebApp) { w.Spec.Suspend = true }
	paused := func(w *appv1.WebApp) { w.Spec.Paused = true }
	tests := map[string]struct {
		reason     string
		webapp     []func(*appv1.WebApp)
		deployment []func(*appsv1.Deployment) // nil: there is none
		pods       []*corev1.Pod
		scalers    []string
		overshoots []string
		problems   []problem
		want       summary
	}{
		"no deployment": {
			reason: "the first pass has nothing to report yet",
			want: summary{Phase: appv1.PhasePending, Ready: "DeploymentPending", Others: "Reconciling DeploymentPending",
				Message: "The Deployment controller has not taken up the current generation yet."},
		},
		"W-13 deployment not observed": {
			reason: "old counts must not make a new generation ready",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3), finished, func(d *appsv1.Deployment) {
				d.Generation = 3
			}},
			want: summary{Phase: appv1.PhasePending, Ready: "DeploymentPending", Others: "Reconciling DeploymentPending",
				Message: "The Deployment controller has not taken up the current generation yet."},
		},
		"W-01 complete": {
			reason:     "every Pod has the template and is available",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3), finished},
			want:       summary{Phase: appv1.PhaseRunning, Ready: "True Ready", Message: "3 of 3 Pods are available."},
		},
		"old Pods left": {
			reason:     "the new ones are there, an old one still serves",
			deployment: []func(*appsv1.Deployment){counts(4, 3, 3), underWay},
			want: summary{Phase: appv1.PhasePending, Ready: "Progressing", Others: "Reconciling Progressing",
				Message: "3 of 3 Pods are available."},
		},
		"W-13 image pull": {
			reason:     "the worst Pod says why",
			deployment: []func(*appsv1.Deployment){counts(4, 1, 3), underWay},
			pods:       []*corev1.Pod{podThat("ImagePullBackOff")},
			want: summary{Phase: appv1.PhasePending, Ready: "ImagePullBackOff", Others: "Reconciling ImagePullBackOff",
				Message: "3 of 3 Pods are available. The image web:2 cannot be pulled."},
		},
		"W-13 progress deadline": {
			reason: "the Deployment gave up",
			deployment: []func(*appsv1.Deployment){counts(4, 1, 3),
				reports(appsv1.DeploymentProgressing, corev1.ConditionFalse, rolloutTimedOut, "x")},
			pods: []*corev1.Pod{podThat("ImagePullBackOff")},
			want: summary{Phase: appv1.PhaseFailed, Ready: "ImagePullBackOff", Others: "Stalled ProgressDeadlineExceeded",
				Message: "3 of 3 Pods are available. The image web:2 cannot be pulled. The rollout made no progress for 10m0s."},
		},
		"W-14 just broken": {
			reason:     "the deadline runs from when it ceased to be ready, and one wake-up is asked for",
			webapp:     []func(*appv1.WebApp){wasNotReadyFor(time.Minute)},
			deployment: []func(*appsv1.Deployment){counts(3, 3, 1), finished},
			pods:       []*corev1.Pod{podThat("ImagePullBackOff")},
			want: summary{Phase: appv1.PhasePending, Ready: "ImagePullBackOff", Others: "Reconciling ImagePullBackOff", Wake: 9 * time.Minute,
				Message: "1 of 3 Pods are available. The image web:2 cannot be pulled."},
		},
		"W-14 broken in this moment": {
			reason:     "the former status says ready, so the deadline begins now",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 1), finished},
			want: summary{Phase: appv1.PhasePending, Ready: "Unavailable", Others: "Reconciling Unavailable", Wake: 10 * time.Minute,
				Message: "1 of 3 Pods are available."},
		},
		"W-14 broken for good": {
			reason:     "the Deployment says nothing, so the WebApp does",
			webapp:     []func(*appv1.WebApp){wasNotReadyFor(10 * time.Minute)},
			deployment: []func(*appsv1.Deployment){counts(3, 3, 1), finished},
			pods:       []*corev1.Pod{podThat("ImagePullBackOff")},
			want: summary{Phase: appv1.PhaseFailed, Ready: "ImagePullBackOff", Others: "Stalled Unavailable",
				Message: "1 of 3 Pods are available. The image web:2 cannot be pulled. This has lasted for 10m0s."},
		},
		"rollout finished late": {
			reason:     "a rollout that took longer than the deadline does not count against it",
			webapp:     []func(*appv1.WebApp){wasNotReadyFor(3 * time.Hour), func(w *appv1.WebApp) { w.Spec.ProgressDeadlineSeconds = new(int32(3660)) }},
			deployment: []func(*appsv1.Deployment){counts(3, 3, 2), finished},
			want: summary{Phase: appv1.PhasePending, Ready: "Unavailable", Others: "Reconciling Unavailable", Wake: time.Minute,
				Message: "2 of 3 Pods are available."},
		},
		"W-19 quota": {
			reason:     "the quota is named, the Pod is not",
			deployment: []func(*appsv1.Deployment){counts(2, 2, 2), underWay, failing},
			want: summary{Phase: appv1.PhaseFailed, Ready: "ReplicaFailure", Others: "Stalled ReplicaFailure",
				Message: "2 of 3 Pods are available. Pods cannot be created: Pods are forbidden: exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2."},
		},
		"W-07 not owned": {
			reason:   "somebody else has the name",
			problems: []problem{{workloadv1.ReasonNotOwned, "The Deployment x exists."}},
			want:     summary{Phase: appv1.PhaseFailed, Ready: "NotOwned", Others: "Stalled NotOwned", Message: "The Deployment x exists."},
		},
		"two problems": {
			reason: "what only the user can solve comes first",
			problems: []problem{{appv1.ReasonApplyFailed, "Later."}, {workloadv1.ReasonInvalidSpec, "Wrong."},
				{workloadv1.ReasonInvalidSpec, "Wrong too."}},
			want: summary{Phase: appv1.PhaseFailed, Ready: "InvalidSpec", Others: "Stalled InvalidSpec", Message: "Wrong. Wrong too."},
		},
		"W-20 a write failed": {
			reason:     "a complete Deployment is not ready while the current generation could not be applied",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3), finished},
			problems:   []problem{{appv1.ReasonApplyFailed, "Later."}},
			want:       summary{Phase: appv1.PhasePending, Ready: "ApplyFailed", Others: "Reconciling ApplyFailed", Message: "Later."},
		},
		"W-15 suspending": {
			reason:     "Pods are left",
			webapp:     []func(*appv1.WebApp){suspended},
			deployment: []func(*appsv1.Deployment){counts(2, 2, 2), finished},
			want: summary{Phase: appv1.PhasePending, Ready: "Progressing", Others: "Reconciling Progressing",
				Message: "Suspending: 2 Pods are left."},
		},
		"W-15 suspended": {
			reason:     "no Pods is what the spec asks for",
			webapp:     []func(*appv1.WebApp){suspended},
			deployment: []func(*appsv1.Deployment){counts(0, 0, 0), finished, failing},
			want: summary{Phase: appv1.PhaseRunning, Ready: "True Suspended",
				Message: "Suspended: no Pods run, as spec.suspend asks."},
		},
		"W-15 paused with a change": {
			reason:     "the phase is kept, nothing is being done, and the generation is not ready",
			webapp:     []func(*appv1.WebApp){paused},
			deployment: []func(*appsv1.Deployment){counts(3, 0, 3), reports(appsv1.DeploymentProgressing, corev1.ConditionUnknown, "DeploymentPaused", "x")},
			want: summary{Phase: appv1.PhaseRunning, Ready: "Paused",
				Message: "Paused: the change is not rolled out while spec.paused is true. 3 of 3 Pods are available."},
		},
		"paused without a change": {
			reason:     "nothing is held back",
			webapp:     []func(*appv1.WebApp){paused},
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3)},
			want:       summary{Phase: appv1.PhaseRunning, Ready: "True Ready", Message: "3 of 3 Pods are available."},
		},
		"W-05 scaled by somebody else": {
			reason:     "spec.replicas says 3 and 7 run",
			deployment: []func(*appsv1.Deployment){counts(7, 7, 7), finished, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(7)) }},
			scalers:    []string{"theirs"},
			want: summary{Phase: appv1.PhaseRunning, Ready: "True Ready",
				Message: "7 of 7 Pods are available. spec.replicas is not used while the HorizontalPodAutoscaler theirs scales the Deployment."},
		},
		"autoscaled beyond the limit": {
			reason:     "the scale requests are refused, which only the autoscaler's own status says",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3), finished},
			overshoots: []string{"The HorizontalPodAutoscaler theirs allows 15 replicas, and a WebApp has at most 10."},
			want: summary{Phase: appv1.PhaseRunning, Ready: "True Ready",
				Message: "3 of 3 Pods are available. The HorizontalPodAutoscaler theirs allows 15 replicas, and a WebApp has at most 10."},
		},
		"deployment of somebody else": {
			reason:     "its numbers are not ours",
			deployment: []func(*appsv1.Deployment){counts(3, 3, 3), finished, func(d *appsv1.Deployment) { d.OwnerReferences = nil }},
			problems:   []problem{{workloadv1.ReasonNotOwned, "The Deployment x exists."}},
			want:       summary{Phase: appv1.PhaseFailed, Ready: "NotOwned", Others: "Stalled NotOwned", Message: "The Deployment x exists."},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := stored(test.webapp...)
			o := observed{pods: test.pods, scalers: test.scalers, overshoots: test.overshoots}
			if test.deployment != nil {
				o.deployment = liveDeployment(t, w, test.deployment...)
			}
			status, wake := statusOf(w, o, test.problems, noon)
			if diff := cmp.Diff(test.want, summaryOf(status, wake)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", test.reason, diff)
			}
			checkLaws(t, w, status)
		})
	}
}

// checkLaws checks what holds for every status.
func checkLaws(t *testing.T, w *appv1.WebApp, status appv1.WebAppStatus) {
	t.Helper()
	if status.ObservedGeneration != w.Generation {
		t.Errorf("W-20: observedGeneration is %d, want %d", status.ObservedGeneration, w.Generation)
	}
	ready := meta.IsStatusConditionTrue(status.Conditions, workloadv1.ConditionReady)
	stalled := meta.IsStatusConditionTrue(status.Conditions, workloadv1.ConditionStalled)
	if stalled != (status.Phase == appv1.PhaseFailed) {
		t.Errorf("phase %s and Stalled=%t contradict each other", status.Phase, stalled)
	}
	if ready && status.Phase != appv1.PhaseRunning {
		t.Errorf("phase %s of a ready WebApp", status.Phase)
	}
	for _, c := range status.Conditions {
		if c.ObservedGeneration != w.Generation || c.Reason == "" || c.LastTransitionTime.IsZero() {
			t.Errorf("incomplete condition %+v", c)
		}
		if ready && (c.Type == workloadv1.ConditionReconciling || c.Type == workloadv1.ConditionStalled) {
			t.Errorf("%s is there although Ready is True", c.Type)
		}
	}
	w.Status = status
	if d := stateOf(status, workloadv1.ConditionReady); d == "" {
		t.Error("no Ready condition")
	}
}

func TestStamp(t *testing.T) {
	then := metav1.NewTime(noon.Add(-time.Hour))
	former := appv1.WebAppStatus{ObservedGeneration: 1, ReadyReplicas: 1, LastUpdateTime: &then}
	tests := map[string]struct {
		reason  string
		mutate  func(*appv1.WebAppStatus)
		differs bool
	}{
		"W-02 same":  {"the time moves only with something else", func(*appv1.WebAppStatus) {}, false},
		"one count":  {"a count moved", func(s *appv1.WebAppStatus) { s.ReadyReplicas = 2 }, true},
		"other time": {"the time alone is no difference", func(s *appv1.WebAppStatus) { s.LastUpdateTime = nil }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next := *former.DeepCopy()
			test.mutate(&next)
			got, differs := stamped(former, next, noon)
			if differs != test.differs {
				t.Fatalf("%s: differs is %t", test.reason, differs)
			}
			want := then
			if differs {
				want = metav1.NewTime(noon)
			}
			if !got.LastUpdateTime.Equal(&want) {
				t.Errorf("%s: lastUpdateTime is %v, want %v", test.reason, got.LastUpdateTime, want)
			}
		})
	}
}

func TestDue(t *testing.T) {
	ready := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: workloadv1.ConditionReady, Status: status, Reason: "x"}}
	}
	former := appv1.WebAppStatus{ObservedGeneration: 1, Phase: appv1.PhasePending, Conditions: ready("False"),
		LastUpdateTime: new(metav1.NewTime(noon.Add(-2 * time.Second)))}
	tests := map[string]struct {
		reason string
		mutate func(*appv1.WebAppStatus)
		want   time.Duration
	}{
		"count":      {"counts of a rollout are written in batches", func(s *appv1.WebAppStatus) { s.ReadyReplicas = 2 }, 3 * time.Second},
		"reason":     {"so are reasons", func(s *appv1.WebAppStatus) { s.Conditions[0].Reason = "y" }, 3 * time.Second},
		"ready":      {"tools wait for it", func(s *appv1.WebAppStatus) { s.Conditions = ready("True") }, 0},
		"phase":      {"people wait for it", func(s *appv1.WebAppStatus) { s.Phase = appv1.PhaseFailed }, 0},
		"generation": {"kstatus waits for it", func(s *appv1.WebAppStatus) { s.ObservedGeneration = 2 }, 0},
		"stalled": {"tools stop waiting for it", func(s *appv1.WebAppStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: workloadv1.ConditionStalled, Status: "True"})
		}, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			next := *former.DeepCopy()
			test.mutate(&next)
			if got := dueIn(former, next, noon); got != test.want {
				t.Errorf("%s: due in %s, want %s", test.reason, got, test.want)
			}
		})
	}
}
