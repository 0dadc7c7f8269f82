package webapp

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/objectmetrics"
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

	// child is what the event is about beside the WebApp; nil if it is about the WebApp alone. Events that agree in all but
	// the note are counted as one, and only the first note is kept: the child tells them apart.
	child *corev1.ObjectReference
}

// eventsOf returns the events of a pass that went from the status of w to next.
func eventsOf(w *appv1.WebApp, next appv1.WebAppStatus, changes []change) []notice {
	var events []notice
	former := w.Status
	for _, c := range changes {
		n := notice{kind: corev1.EventTypeNormal, action: string(c.verb), child: c.child}
		switch {
		case c.verb == adopt:
			n.reason, n.note = eventAdopted, fmt.Sprintf("Took over the orphaned %s %s.", c.child.Kind, c.child.Name)
		case c.verb == remove:
			n.reason, n.note = eventDeleted, fmt.Sprintf("Deleted the %s %s, which is no longer asked for.", c.child.Kind, c.child.Name)
		case restored(w, c):
			n.reason, n.note = eventRestored, fmt.Sprintf("Restored the %s %s.", c.child.Kind, c.child.Name)
		default:
			continue
		}
		events = append(events, n)
	}
	ready := meta.FindStatusCondition(next.Conditions, workloadv1.ConditionReady)
	switch {
	case ready == nil:
	case next.Phase == appv1.PhaseFailed && former.Phase != appv1.PhaseFailed:
		events = append(events, notice{kind: corev1.EventTypeWarning, reason: eventFailed, action: "Observe", note: ready.Message})
	case ready.Status == metav1.ConditionTrue && stateOf(former, workloadv1.ConditionReady) != metav1.ConditionTrue:
		events = append(events, notice{kind: corev1.EventTypeNormal, reason: eventRunning, action: "Observe", note: ready.Message})
	}
	return events
}

// restored says that a write undid what somebody else did: everything had been as the spec asks.
func restored(w *appv1.WebApp, c change) bool {
	return (c.verb == create || c.verb == update) && w.Status.Phase == appv1.PhaseRunning && w.Status.ObservedGeneration == w.Generation
}

// countWrites shows the writes of a pass in metrics.
func countWrites(w *appv1.WebApp, changes []change) {
	for _, c := range changes {
		objectmetrics.Wrote(kindWebApp, c.child.Kind, strings.ToLower(string(c.verb)), 1)
		if restored(w, c) {
			objectmetrics.Repaired(kindWebApp, c.child.Kind, 1)
		}
	}
}

func (r *Reconciler) record(w *appv1.WebApp, events []notice) {
	for _, e := range events {
		var related runtime.Object
		if e.child != nil {
			related = e.child
		}
		r.recorder.Eventf(w, related, e.kind, e.reason, e.action, "%s", e.note)
	}
}
