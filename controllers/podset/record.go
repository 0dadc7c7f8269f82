package podset

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// record is what the operator remembers about one PodSet between passes. Losing it, by a restart, costs at most a repeated
// attempt: everything that matters is in the cluster. Passes of one PodSet never overlap, so it needs no lock.
type record struct {
	uid types.UID

	// pace says when the next pass may be, and again is what the latest one put off waits for.
	pace  pace
	again time.Time

	// own is what our last write left of the PodSet itself.
	own ownWrite

	// statusDue is when counts that moved are to be written; zero if there are none.
	statusDue time.Time

	// expected are writes on Pods that the cache did not show yet.
	expected expectations

	// unanswered are names of Pods that may exist: the answer to their creation was lost.
	unanswered sets.Set[string]

	// refusal is why the API server did not take the last creation or deletion; nil if it took it.
	refusal *refusal

	// failures counts Pods that failed one after the other.
	failures failures

	// namespaceTerminating: the API server said so, and that cannot be undone.
	namespaceTerminating bool
}

// refusal is an answer of the API server that the user has to know about.
type refusal struct {
	reason     string // of the condition ReplicaFailure
	message    string
	invalid    bool  // nothing but another spec will help
	generation int64 // of the spec that was refused
	count      int   // refusals in a row
	retryAt    time.Time
}

// records are the records of all PodSets.
type records struct {
	mu    sync.Mutex
	byKey map[types.NamespacedName]*record
}

// of returns the record of a PodSet; another object of the same name starts with an empty one.
func (r *records) of(podSet *batchv1.PodSet) *record {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := types.NamespacedName{Namespace: podSet.Namespace, Name: podSet.Name}
	known := r.byKey[key]
	if known == nil || known.uid != podSet.UID {
		known = &record{uid: podSet.UID, expected: expectations{}, unanswered: sets.New[string]()}
		r.byKey[key] = known
	}
	return known
}

func (r *records) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byKey, key)
}
