package podset

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

const (
	// burst is how many Pods one pass creates or deletes at most, as in ReplicaSet.
	burst = 500

	// defaultFailedPodsHistoryLimit stands for an unset spec.failedPodsHistoryLimit.
	defaultFailedPodsHistoryLimit = 3
)

// decision is what one pass is going to write, and when to look again without being called.
type decision struct {
	adopt   []*corev1.Pod
	release []*corev1.Pod
	relabel []*corev1.Pod // hidden Pods, to be brought back into the cache
	create  int
	remove  []*corev1.Pod // surplus
	forget  []*corev1.Pod // finished Pods beyond the history limit
	replace []*corev1.Pod // Pods of an old revision, to be deleted and created anew
	patch   []*corev1.Pod // Pods of an old revision that only need the new image

	waiting bool      // for the cache to show our own writes; nothing is decided
	held    bool      // a refusal holds back what should be written
	wakeAt  time.Time // zero: only when something happens
}

func (d *decision) deletes() []*corev1.Pod { return slices.Concat(d.remove, d.forget, d.replace) }

func (d *decision) wake(at time.Time) { d.wakeAt = earlier(d.wakeAt, at) }

// plan decides. It is pure: the same observation gives the same decision.
func plan(o *observation) decision {
	d := decision{}
	if at, late := o.expected.wakeAt(); late {
		// The cache is older than our own last write: whatever it suggests may be done already.
		d.waiting = true
		d.wake(at)
		d.wakeForAvailability(o)
		return d
	}
	d.release, d.adopt = o.strays, o.orphans
	if len(d.adopt) == 0 && (len(o.hidden) == 0 || o.refusal != nil) {
		// A hidden Pod gets its label back first, so that everybody can watch it go. Only if that is refused, nothing waits for it.
		d.forget = forgettable(o)
		d.planSurplus(o)
		d.planUpdate(o)
	}
	d.planRelabel(o)
	d.planMissing(o)
	d.wakeForAvailability(o)
	return d
}

// planRelabel brings hidden Pods back into the cache, except those that this pass writes anyway: two writes on the same
// version of a Pod cannot both succeed.
func (d *decision) planRelabel(o *observation) {
	if len(o.hidden) == 0 || d.heldByRefusal(o) {
		return
	}
	written := byUID(d.deletes(), d.patch)
	for _, pod := range o.hidden {
		if written[pod.UID] == nil {
			d.relabel = append(d.relabel, pod)
		}
	}
}

// planMissing fills up to the desired number, as fast as refusals and failing Pods allow.
func (d *decision) planMissing(o *observation) {
	present := len(o.active) + len(o.adoptedActive(d))
	if o.podSet.Spec.PodReplacementPolicy == batchv1.ReplaceFailed {
		for _, pod := range o.terminating {
			if !finished(pod) {
				present++
			}
		}
	}
	missing := min(o.desired()-present, burst)
	if missing <= 0 {
		return
	}
	if d.heldByRefusal(o) {
		return
	}
	failing := o.failures
	allowed, again := failing.allowance(missing, o.active, o.now)
	d.create = allowed
	if allowed < missing {
		d.wake(again)
	}
}

func (o *observation) adoptedActive(d *decision) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(d.adopt), finished)
}

// heldByRefusal: the API server refused the last attempt at this generation, and it is too early for the next.
func (d *decision) heldByRefusal(o *observation) bool {
	if o.refusal == nil || o.refusal.generation != o.podSet.Generation || !o.refusal.retryAt.After(o.now) {
		return false
	}
	d.held = true
	d.wake(o.refusal.retryAt)
	return true
}

// planSurplus removes Pods beyond the desired number.
func (d *decision) planSurplus(o *observation) {
	surplus := min(len(o.active)-o.desired(), burst)
	if surplus <= 0 {
		return
	}
	if d.heldByRefusal(o) {
		return
	}
	d.remove = o.victims().pick(o.active, nil, surplus)
}

func (o *observation) victims() victims {
	v := victims{zones: o.zones, policy: batchv1.ScaleDownSpread}
	if s := o.podSet.Spec.ScaleDown; s != nil {
		v.policy, v.prefer = s.Policy, sets.New(s.PreferDelete...)
	}
	return v
}

// forgettable are the oldest finished Pods beyond the history limit.
func forgettable(o *observation) []*corev1.Pod {
	limit := int(ptr.Deref(o.podSet.Spec.FailedPodsHistoryLimit, defaultFailedPodsHistoryLimit))
	excess := min(len(o.finished)-limit, burst)
	if excess <= 0 {
		return nil
	}
	oldest := slices.Clone(o.finished)
	slices.SortStableFunc(oldest, func(a, b *corev1.Pod) int {
		return cmp.Or(finishedAt(a).Compare(finishedAt(b)), cmp.Compare(a.Name, b.Name))
	})
	return oldest[:excess]
}

// wakeForAvailability asks for a pass at the moment at which the next ready Pod becomes available.
func (d *decision) wakeForAvailability(o *observation) {
	for _, pod := range o.active {
		if at, is := availableAt(pod, o.podSet.Spec.MinReadySeconds); is && at.After(o.now) && o.podSet.Spec.MinReadySeconds > 0 {
			d.wake(at)
		}
	}
}
