package objectmetrics

import (
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// States counts the objects of one kind by state. A reconciler tells it the state at the end of each pass, so it needs no cache,
// and a replica that does not lead counts nothing. It is safe for concurrent use.
type States struct {
	// Kind of the objects.
	Kind string

	mu     sync.Mutex
	states map[types.NamespacedName]state
}

// State of an object at the end of a pass.
type State struct {
	// Conditions of its status.
	Conditions []metav1.Condition

	// BackingOff says that new Pods are held back because Pods fail one after the other.
	BackingOff bool
}

// state is what is shown of an object. The reason is one of the constants in apis and podhealth.
type state struct {
	ready, reason        string
	degraded, backingOff bool
}

func (s State) shown() state {
	shown := state{degraded: meta.IsStatusConditionTrue(s.Conditions, workloadv1.ConditionConversionDegraded), backingOff: s.BackingOff}
	if ready := meta.FindStatusCondition(s.Conditions, workloadv1.ConditionReady); ready != nil {
		shown.ready, shown.reason = strings.ToLower(string(ready.Status)), ready.Reason
	}
	return shown
}

// Set says in which state an object is now.
func (s *States) Set(key types.NamespacedName, to State) {
	next := to.shown()
	s.mu.Lock()
	defer s.mu.Unlock()
	if former, known := s.states[key]; known {
		if former == next {
			return
		}
		s.count(former, -1)
	}
	if s.states == nil {
		s.states = map[types.NamespacedName]state{}
	}
	s.states[key] = next
	s.count(next, 1)
}

// Forget says that an object is gone, or going.
func (s *States) Forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if former, known := s.states[key]; known {
		s.count(former, -1)
		delete(s.states, key)
	}
}

func (s *States) count(of state, n float64) {
	objects.WithLabelValues(s.Kind, of.ready, of.reason).Add(n)
	unread := degraded.WithLabelValues(s.Kind) // there with zero from the first object on
	if of.degraded {
		unread.Add(n)
	}
	if of.backingOff {
		backingOff.Add(n)
	}
}
