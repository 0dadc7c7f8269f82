package podset

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Pods that fail one after the other are replaced at growing distances. The first failure is replaced at once.
	firstFailureDelay = 10 * time.Second
	maxFailureDelay   = 5 * time.Minute

	// A Pod that lived this long did not fail at once, and so long without a failure ends the row.
	failureMemory = 2 * maxFailureDelay

	// A Pod that stays ready this long ends the row too.
	provenAfter = 10 * time.Second

	// A creation or deletion that was refused is tried again at growing distances, so that a lifted quota is noticed
	// well within two minutes.
	firstRefusalDelay = time.Second
	maxRefusalDelay   = time.Minute
)

// failures counts Pods of one revision that failed one after the other. Pods that were created in the same round fail for
// the same cause and count once.
type failures struct {
	revision revision
	count    int
	last     time.Time
	counted  map[types.UID]bool
	rounds   map[string]int // count at the time a Pod was created, by name
}

// created notes that a Pod was created in the present round.
func (f *failures) created(name string) {
	if f.rounds == nil {
		f.rounds = map[string]int{}
	}
	f.rounds[name] = f.count
}

// observe brings the count up to date. pods are all Pods of the PodSet, expected our writes that the cache lacks.
func (f *failures) observe(pods []*corev1.Pod, current revision, expected expectations, now time.Time) {
	if f.revision != current {
		f.revision, f.count, f.last = current, 0, time.Time{}
	}
	present := make(map[types.UID]bool)
	rounds := make(map[string]int, len(f.rounds))
	for name := range expected {
		if round, known := f.rounds[name]; known {
			rounds[name] = round
		}
	}
	for _, pod := range pods {
		if round, known := f.rounds[pod.Name]; known {
			rounds[pod.Name] = round
		}
		if pod.Status.Phase != corev1.PodFailed {
			continue
		}
		present[pod.UID] = true
		if !f.counted[pod.UID] && !terminating(pod) && podRevision(pod) == current {
			f.add(pod)
		}
	}
	f.counted, f.rounds = present, rounds
	if f.count > 0 && (f.proven(pods, now) || now.Sub(f.last) > failureMemory) {
		f.count = 0
	}
}

func (f *failures) add(pod *corev1.Pod) {
	at := finishedAt(pod)
	if at.Sub(pod.CreationTimestamp.Time) > failureMemory {
		return
	}
	round, known := f.rounds[pod.Name]
	sameRound := known && round < f.count
	if !known {
		sameRound = f.count > 0 && !pod.CreationTimestamp.After(f.last)
	}
	if !sameRound {
		f.count++
	}
	if at.After(f.last) {
		f.last = at
	}
}

// proven: a Pod became ready after the last failure and stayed so.
func (f *failures) proven(pods []*corev1.Pod, now time.Time) bool {
	for _, pod := range pods {
		since, isReady := readySince(pod)
		if isReady && active(pod) && since.After(f.last) && !since.Add(provenAfter).After(now) {
			return true
		}
	}
	return false
}

// allowance returns how many of the missing Pods may be created now, and when to look again if not all of them.
func (f *failures) allowance(missing int, pods []*corev1.Pod, now time.Time) (int, time.Time) {
	if !f.backingOff() || missing == 0 {
		return missing, time.Time{}
	}
	if until := f.last.Add(failureDelay(f.count)); until.After(now) {
		return 0, until
	}
	// One Pod at a time tries, until one is ready for long enough.
	again := f.last.Add(failureMemory + time.Second)
	trying := false
	for _, pod := range pods {
		if !active(pod) || pod.CreationTimestamp.Time.Before(f.last) {
			continue
		}
		trying = true
		if since, isReady := readySince(pod); isReady {
			again = earlier(again, since.Add(provenAfter))
		}
	}
	if trying {
		return 0, again
	}
	return 1, again
}

// backingOff says that a failure was not the only one, so that the next Pod waits.
func (f *failures) backingOff() bool { return f.count > 1 }

func failureDelay(count int) time.Duration {
	if count <= 1 {
		return 0
	}
	return doubled(firstFailureDelay, count-1, maxFailureDelay)
}

func refusalDelay(count int) time.Duration { return doubled(firstRefusalDelay, count, maxRefusalDelay) }

// doubled returns first for n = 1, twice as much for each further n, at most limit.
func doubled(first time.Duration, n int, limit time.Duration) time.Duration {
	delay := first
	for range n - 1 {
		if delay >= limit {
			return limit
		}
		delay *= 2
	}
	return min(delay, limit)
}

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}
