package migration

import (
	"strings"
	"sync"
	"time"
)

// Phase is what an engine is doing.
type Phase string

// Phases, in the order of a run.
const (
	// PhaseWaiting is before the first write, or during an outage: something must hold that does not.
	PhaseWaiting Phase = "Waiting"
	// PhasePlanning asks for every object what a write would do, without writing.
	PhasePlanning Phase = "Planning"
	// PhaseRewriting writes every object once.
	PhaseRewriting Phase = "Rewriting"
	// PhaseVerifying writes every object again, which must change nothing.
	PhaseVerifying Phase = "Verifying"
	// PhaseDone is the end: nothing is stored in another version.
	PhaseDone Phase = "Done"
	// PhaseIncomplete is the end of a run that left objects behind.
	PhaseIncomplete Phase = "Incomplete"
)

// Progress is where a call stands.
type Progress struct {
	CRD   string `json:"crd"`
	Phase Phase  `json:"phase"`
	// Done of Total objects of this phase. Total is an estimate of the API server, zero while unknown.
	Done    int `json:"done"`
	Total   int `json:"total,omitempty"`
	Refused int `json:"refused,omitempty"`
	// Waiting says for what: in PhaseWaiting, and while the cluster itself rewrites.
	Waiting string `json:"waiting,omitempty"`
	// Remaining is an estimate for this phase, zero while unknown.
	Remaining time.Duration `json:"remainingNanoseconds,omitempty"`
}

// teller passes progress on to the observer, one at a time.
type teller struct {
	mu      sync.Mutex
	crd     string
	observe func(Progress)
}

func (t *teller) tell(p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p.CRD = t.crd
	t.observe(p)
}

// estimate is the time that the rest of a phase takes at the pace so far.
func estimate(done, total int, elapsed time.Duration) time.Duration {
	if done == 0 || total <= done {
		return 0
	}
	return (elapsed / time.Duration(done) * time.Duration(total-done)).Round(time.Second)
}

// oneLine makes an error fit on a line.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
