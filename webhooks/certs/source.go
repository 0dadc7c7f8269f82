package certs

// Source decides where the serving certificate comes from. SelfManaged is the one there is. A certificate provided by hand, or by
// cert-manager, is a Source that never changes the Secret; with cert-manager it does not publish the bundle either.
type Source interface {
	// Next decides what to do with the Secret, from what was observed.
	Next(o Observation) Decision
	// Issue returns the Secret's data after a step that Next chose for the same observation.
	Issue(step Step, o Observation) (map[string][]byte, error)
	// Publishes says whether this operator writes the caBundle of the targets.
	Publishes() bool
}

// SelfManaged is the Source that makes its own authority and serving certificates.
type SelfManaged struct {
	Lifetimes Lifetimes
}

var _ Source = SelfManaged{}

// Next implements Source.
func (s SelfManaged) Next(o Observation) Decision { return plan(o, s.Lifetimes) }

// Issue implements Source.
func (s SelfManaged) Issue(step Step, o Observation) (map[string][]byte, error) {
	return issue(step, o, s.Lifetimes)
}

// Publishes implements Source.
func (s SelfManaged) Publishes() bool { return true }
