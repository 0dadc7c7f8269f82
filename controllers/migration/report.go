package migration

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Report is the outcome of a plan, a run or a verification.
type Report struct {
	// CRD is the name of the CustomResourceDefinition, Target the version that its objects are to be stored in.
	CRD    string `json:"crd"`
	Target string `json:"target"`
	// StoredVersions is status.storedVersions at the end.
	StoredVersions []string `json:"storedVersions"`
	// Objects is how many were looked at: rewritten, unchanged, moved and refused together.
	Objects int `json:"objects"`
	// Rewritten are those whose stored form the write changed; in a plan, those that nobody would refuse.
	Rewritten int `json:"rewritten"`
	// Unchanged were stored in the target version already.
	Unchanged int `json:"unchanged"`
	// Moved were written by somebody else or deleted meanwhile, and so need nothing.
	Moved int `json:"moved"`
	// Refused could not be written. Refusals names the first of them.
	Refused  int       `json:"refused"`
	Refusals []Problem `json:"refusals,omitempty"`
	// Owners is how many objects had managedFields in another version, which were translated.
	Owners int `json:"owners"`
	// Stale is how many objects a verification found in another form than a write gives them, and put right: in another version,
	// or without a default. StaleObjects names the first of them.
	Stale        int       `json:"stale"`
	StaleObjects []Problem `json:"staleObjects,omitempty"`
	// Verified says that the last whole pass found every object in the target version.
	Verified bool `json:"verified"`
	// Trimmed says that this call removed a version from status.storedVersions.
	Trimmed bool `json:"trimmed"`
	// Resumed says that the rewriting went on where another run had been stopped; the counts begin there.
	Resumed bool `json:"resumed,omitempty"`
	// Duration of the call.
	Duration time.Duration `json:"durationNanoseconds"`

	// Planned says that this is a plan.
	Planned bool `json:"planned,omitempty"`
}

// Complete says that nobody refuses and, except for a plan, that every object is proved to be in the target version.
func (r *Report) Complete() bool { return r.Refused == 0 && (r.Verified || r.Planned) }

// Problem is an object and what is wrong with it.
type Problem struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
	// Reason is one line: who refused, and why.
	Reason string `json:"reason"`
}

// Status is the state of a CustomResourceDefinition, as the definition alone shows it.
type Status struct {
	CRD    string    `json:"crd"`
	UID    types.UID `json:"uid"`
	Target string    `json:"target"`
	// StoredVersions may still be found in storage.
	StoredVersions []string `json:"storedVersions"`
	// Pending says that a run is due, Reason why.
	Pending bool   `json:"pending"`
	Reason  string `json:"reason,omitempty"`
	// Record is what the latest run left behind, nil if there was none.
	Record *Record `json:"record,omitempty"`
}

// result is what became of one object.
type result int

const (
	rewritten result = iota
	unchanged
	moved
	refused
	stale
)

// outcome of one object.
type outcome struct {
	result result
	reason string
	// translated says that its managedFields were.
	translated bool
}

// add counts an outcome. Only so many problems are named, which bounds the memory.
func (r *Report) add(p Problem, o outcome, listed int) {
	r.Objects++
	p.Reason = o.reason
	if o.translated {
		r.Owners++
	}
	switch o.result {
	case rewritten:
		r.Rewritten++
	case unchanged:
		r.Unchanged++
	case moved:
		r.Moved++
	case refused:
		r.Refused++
		r.Refusals = appendUpTo(r.Refusals, p, listed)
	case stale:
		r.Rewritten++
		r.Stale++
		r.StaleObjects = appendUpTo(r.StaleObjects, p, listed)
	}
}

func appendUpTo(problems []Problem, p Problem, limit int) []Problem {
	if len(problems) >= limit {
		return problems
	}
	return append(problems, p)
}
