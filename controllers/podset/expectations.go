package podset

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// expectationPatience is how long a write may stay unseen in the cache before the API server is asked about it.
const expectationPatience = 30 * time.Second

// operation is what a write did to a Pod.
type operation int

const (
	created operation = iota
	patched
	deleted
)

// expectation is a write of ours that the cache did not show yet.
type expectation struct {
	operation operation
	uid       types.UID
	version   string // resourceVersion that the write left; unknown for deletes
	deadline  time.Time
}

// expectations are the writes on the Pods of one PodSet that the cache did not show yet, by name of the Pod.
type expectations map[string]expectation

func (e expectations) expect(pod *corev1.Pod, op operation, now time.Time) {
	e[pod.Name] = expectation{
		operation: op,
		uid:       pod.UID,
		version:   pod.ResourceVersion,
		deadline:  now.Add(expectationPatience),
	}
}

// appear says of Pods that were patched that the cache does not have them yet. Unlike with other patches, their absence from it
// shows nothing; they come into it as new Pods do.
func (e expectations) appear(pods []*corev1.Pod) {
	for _, pod := range pods {
		if expected, patchedOne := e[pod.Name]; patchedOne && expected.uid == pod.UID {
			expected.operation = created
			e[pod.Name] = expected
		}
	}
}

// settle drops what the cache shows. pods are all Pods of the cache that may be ours, and newest is the newest
// resourceVersion that the watch of Pods of their namespace had delivered before pods were read.
func (e expectations) settle(pods map[types.UID]*corev1.Pod, newest string) {
	for name, expected := range e {
		if expected.shownBy(pods[expected.uid], newest) {
			delete(e, name)
		}
	}
}

func (x expectation) shownBy(pod *corev1.Pod, newest string) bool {
	switch x.operation {
	case created:
		// A Pod that was deleted before anybody saw it is shown by its absence from a cache that is new enough.
		return pod != nil || atLeast(newest, x.version)
	case patched:
		return pod == nil || atLeast(pod.ResourceVersion, x.version)
	default:
		return pod == nil || terminating(pod)
	}
}

// overdue reports whether some write stayed unseen for too long.
func (e expectations) overdue(now time.Time) bool {
	for _, expected := range e {
		if !expected.deadline.After(now) {
			return true
		}
	}
	return false
}

// check compares with what the API server has. A write that it does not know any more is dropped; for the others the
// cache is merely late, and waiting goes on.
func (e expectations) check(live map[types.UID]*corev1.Pod, now time.Time) {
	for name, expected := range e {
		pod := live[expected.uid]
		gone := expected.operation == created && pod == nil
		undone := expected.operation == deleted && pod != nil && !terminating(pod)
		if gone || undone {
			delete(e, name)
			continue
		}
		expected.deadline = now.Add(expectationPatience)
		e[name] = expected
	}
}

// wakeAt returns the earliest deadline; false if nothing is expected.
func (e expectations) wakeAt() (time.Time, bool) {
	var earliest time.Time
	for _, expected := range e {
		if earliest.IsZero() || expected.deadline.Before(earliest) {
			earliest = expected.deadline
		}
	}
	return earliest, len(e) > 0
}

// atLeast reports whether version a is b or newer. What is no version is taken for older, so that we rather wait.
func atLeast(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order >= 0
}

// older reports whether version a is known to be older than b.
func older(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order < 0
}

// watchProgress is the newest resourceVersion that the watch of Pods delivered, by namespace. An operator that works on some
// namespaces has a watch for each, and they need not keep pace: what one of them delivered says nothing about the others.
type watchProgress struct {
	mu     sync.Mutex
	newest map[string]string
}

func newWatchProgress() *watchProgress { return &watchProgress{newest: map[string]string{}} }

func (w *watchProgress) saw(namespace, version string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !atLeast(w.newest[namespace], version) {
		w.newest[namespace] = version
	}
}

func (w *watchProgress) version(namespace string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest[namespace]
}
