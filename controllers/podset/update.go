package podset

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// planUpdate chooses Pods of an old revision that get the current template now. A Pod that is not available can be taken at
// any time; the others only as long as enough Pods stay available.
func (d *decision) planUpdate(o *observation) {
	if o.podSet.Spec.Paused || o.podSet.Spec.Suspend || len(d.remove) > 0 || o.updateType() == batchv1.OnDeleteStrategy {
		return
	}
	next := o.nextToUpdate()
	if len(next) == 0 || d.heldByRefusal(o) {
		// Deleting a Pod while new ones are refused would only lose it.
		return
	}
	for _, pod := range next {
		if o.updateType() == batchv1.InPlaceStrategy && podRevision(pod).settings == o.revision.settings {
			d.patch = append(d.patch, pod)
		} else {
			d.replace = append(d.replace, pod)
		}
	}
}

func (o *observation) nextToUpdate() []*corev1.Pod {
	outdated := o.outdated()
	n := min(len(outdated)-o.partition(), burst)
	if n <= 0 {
		return nil
	}
	var up, down []*corev1.Pod
	for _, pod := range outdated {
		if available(pod, o.podSet.Spec.MinReadySeconds, o.now) {
			up = append(up, pod)
		} else {
			down = append(down, pod)
		}
	}
	next := o.victims().pick(down, nil, n)
	budget := o.available() - (o.desired() - o.maxUnavailable())
	return append(next, o.victims().pick(up, o.others(up), min(n-len(next), budget))...)
}

// others are the active Pods that are not among pods.
func (o *observation) others(pods []*corev1.Pod) []*corev1.Pod {
	among := byUID(pods)
	var others []*corev1.Pod
	for _, pod := range o.active {
		if among[pod.UID] == nil {
			others = append(others, pod)
		}
	}
	return others
}

func (o *observation) updateType() batchv1.UpdateStrategyType {
	if s := o.podSet.Spec.UpdateStrategy; s != nil && s.Type != "" {
		return s.Type
	}
	return batchv1.RollingUpdateStrategy
}

func (o *observation) rollingUpdate() batchv1.RollingUpdate {
	if s := o.podSet.Spec.UpdateStrategy; s != nil && s.RollingUpdate != nil {
		return *s.RollingUpdate
	}
	return batchv1.RollingUpdate{}
}

// partition is how many Pods stay at an old revision.
func (o *observation) partition() int { return int(ptr.Deref(o.rollingUpdate().Partition, 0)) }

// maxUnavailable is at least 1, or an update could not begin.
func (o *observation) maxUnavailable() int {
	value := ptr.Deref(o.rollingUpdate().MaxUnavailable, intstr.FromInt32(1))
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, o.desired(), false)
	if err != nil {
		return 1 // the schema admits nothing that cannot be read
	}
	return max(n, 1)
}
