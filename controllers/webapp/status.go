package webapp

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/podhealth"
)

// countInterval is how often a status that differs only in counts, reasons and messages is written. A rollout would
// otherwise cost one write for each Pod.
const countInterval = 5 * time.Second

// statusOf returns the status of a WebApp around which o was observed, and how long until it changes by itself; zero
// means never. Of the former status only the times are used.
func statusOf(w *appv1.WebApp, o observed, problems []problem, now time.Time) (appv1.WebAppStatus, time.Duration) {
	f := &facts{webapp: w, scalers: o.scalers, overshoots: o.overshoots, problems: problems, now: now}
	status := appv1.WebAppStatus{
		ObservedGeneration: w.Generation,
		LastUpdateTime:     w.Status.LastUpdateTime,
		Selector:           labels.SelectorFromSet(selectorOf(w)).String(),
		URL:                urlOf(w),
	}
	if d := o.deployment; d != nil && metav1.IsControlledBy(d, w) {
		f.deployment = d
		f.worst, _ = podhealth.Worst(o.pods)
		status.Replicas = d.Status.Replicas
		status.ReadyReplicas = d.Status.ReadyReplicas
		status.UpdatedReplicas = d.Status.UpdatedReplicas
		status.AvailableReplicas = d.Status.AvailableReplicas
	}
	v := verdictOf(f)
	status.Phase = v.phase
	status.Conditions = conditionsOf(f, v)
	return status, v.wake
}

// stamped returns next with the time of its last change, and whether it differs from the former status.
func stamped(former, next appv1.WebAppStatus, now time.Time) (appv1.WebAppStatus, bool) {
	next.LastUpdateTime = former.LastUpdateTime
	if equality.Semantic.DeepEqual(former, next) {
		return next, false
	}
	next.LastUpdateTime = new(metav1.NewTime(now))
	return next, true
}

// dueIn returns how long a status that differs may wait: not at all if the generation, the phase, or the conditions that
// tools wait for change, else until countInterval after the last write.
func dueIn(former, next appv1.WebAppStatus, now time.Time) time.Duration {
	if former.LastUpdateTime == nil || former.ObservedGeneration != next.ObservedGeneration || former.Phase != next.Phase {
		return 0
	}
	for _, kind := range []string{workloadv1.ConditionReady, workloadv1.ConditionStalled, workloadv1.ConditionConversionDegraded} {
		if stateOf(former, kind) != stateOf(next, kind) {
			return 0
		}
	}
	return max(0, former.LastUpdateTime.Add(countInterval).Sub(now))
}

func stateOf(status appv1.WebAppStatus, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
		return c.Status
	}
	return ""
}
