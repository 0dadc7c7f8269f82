package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// annotationReplacedContainer carries, on a Pod whose image was patched in place, the identity of the container that ran
// the old image. While that container still runs, what the Pod reports is not about the new image.
const annotationReplacedContainer = "batch.example.com/replaced-container"

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

func terminating(pod *corev1.Pod) bool { return pod.DeletionTimestamp != nil }

// active Pods are those that spec.replicas counts.
func active(pod *corev1.Pod) bool { return !terminating(pod) && !finished(pod) }

func condition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// readySince returns when the Pod became ready, and whether it is ready.
func readySince(pod *corev1.Pod) (time.Time, bool) {
	c := condition(pod, corev1.PodReady)
	if c == nil || c.Status != corev1.ConditionTrue {
		return time.Time{}, false
	}
	return c.LastTransitionTime.Time, true
}

func ready(pod *corev1.Pod) bool {
	_, is := readySince(pod)
	return is
}

// availableAt returns when the Pod counts as available, and whether it is on its way there. The time may be in the past.
func availableAt(pod *corev1.Pod, minReadySeconds int32) (time.Time, bool) {
	since, is := readySince(pod)
	if !is || updatingInPlace(pod) {
		return time.Time{}, false
	}
	return since.Add(time.Duration(minReadySeconds) * time.Second), true
}

func available(pod *corev1.Pod, minReadySeconds int32, now time.Time) bool {
	at, is := availableAt(pod, minReadySeconds)
	// A clock that lags behind the node's must not hold back a Pod that needs no waiting.
	return is && (minReadySeconds == 0 || !at.After(now))
}

// updatingInPlace: the image was patched and the container of the old image still runs.
func updatingInPlace(pod *corev1.Pod) bool {
	old, patched := pod.Annotations[annotationReplacedContainer]
	return patched && old != "" && old == containerID(pod)
}

// containerID identifies the running instance of our container; empty if there is none.
func containerID(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if s := &pod.Status.ContainerStatuses[i]; s.Name == workloadv1.ContainerName {
			return s.ContainerID
		}
	}
	return ""
}

// finishedAt returns when a finished Pod finished, as far as its status tells.
func finishedAt(pod *corev1.Pod) time.Time {
	latest := pod.CreationTimestamp.Time
	for i := range pod.Status.ContainerStatuses {
		if t := pod.Status.ContainerStatuses[i].State.Terminated; t != nil && t.FinishedAt.After(latest) {
			latest = t.FinishedAt.Time
		}
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.LastTransitionTime.After(latest) {
			latest = c.LastTransitionTime.Time
		}
	}
	return latest
}

func podRevision(pod *corev1.Pod) revision { return parseRevision(pod.Labels[batchv1.LabelRevision]) }

// selectorOf is what tells the Pods of a PodSet from all others.
func selectorOf(podSet *batchv1.PodSet) map[string]string {
	return map[string]string{batchv1.LabelPodSet: podSet.Name}
}

// ownedBy goes by UID: a PodSet of the same name that was deleted is another owner.
func ownedBy(pod *corev1.Pod, podSet *batchv1.PodSet) bool { return metav1.IsControlledBy(pod, podSet) }
