package webapp

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// Reasons of the events on a WebApp. An event tells of a change, once; what lasts is in the conditions.
const (
	// eventRunning: the WebApp became ready: its current generation is completely rolled out, or suspended as asked.
	eventRunning = "Running"

	// eventFailed: the phase became Failed. The note is the message of the Ready condition.
	eventFailed = "Failed"

	// eventAdopted: an orphaned child of a WebApp of the same name was taken over.
	eventAdopted = "Adopted"

	// eventRestored: a child was brought back to what the spec asks for, after somebody else changed or deleted it.
	eventRestored = "Restored"

	// eventDeleted: a child that the spec no longer asks for was deleted.
	eventDeleted = "Deleted"
)

// notice is one event to be recorded.
type notice struct {
	kind   string
	reason string
	action string
	note   string
}

// eventsOf returns the events of a pass that went from the status of w to next.
func eventsOf(w *appv1.WebApp, next appv1.WebAppStatus, changes []change) []notice {
	var events []notice
	former := w.Status
	for _, c := range changes {
		switch {
		case c.verb == adopt:
			events = append(events, notice{corev1.EventTypeNormal, eventAdopted, string(c.verb), fmt.Sprintf("Took over the orphaned %s %s.", c.kind, c.name)})
		case c.verb == remove:
			events = append(events, notice{corev1.EventTypeNormal, eventDeleted, string(c.verb), fmt.Sprintf("Deleted the %s %s, which is no longer asked for.", c.kind, c.name)})
		case former.Phase == appv1.PhaseRunning && former.ObservedGeneration == w.Generation:
			events = append(events, notice{corev1.EventTypeNormal, eventRestored, string(c.verb), fmt.Sprintf("Restored the %s %s.", c.kind, c.name)})
		}
	}
	ready := meta.FindStatusCondition(next.Conditions, workloadv1.ConditionReady)
	switch {
	case ready == nil:
	case next.Phase == appv1.PhaseFailed && former.Phase != appv1.PhaseFailed:
		events = append(events, notice{corev1.EventTypeWarning, eventFailed, "Observe", ready.Message})
	case ready.Status == metav1.ConditionTrue && stateOf(former, workloadv1.ConditionReady) != metav1.ConditionTrue:
		events = append(events, notice{corev1.EventTypeNormal, eventRunning, "Observe", ready.Message})
	}
	return events
}

func (r *Reconciler) record(w *appv1.WebApp, events []notice) {
	for _, e := range events {
		r.recorder.Eventf(w, nil, e.kind, e.reason, e.action, "%s", e.note)
	}
}
