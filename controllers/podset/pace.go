package podset

import "time"

const (
	// restFactor is how much longer than a pass the rest after it is: passes over one PodSet take at most a tenth of a worker.
	restFactor = 9
	// maxRest bounds what a rest adds to the time until a change is seen.
	maxRest = 250 * time.Millisecond
)

// pace spreads passes over one PodSet. A pass looks at every Pod, and thousands of Pods that become ready wake their PodSet
// thousands of times: without a rest, a large set would be looked at all the time, and take from the API server the processor that
// its Pods wait for. A small set rests for less than a network round trip.
type pace struct{ next time.Time }

// took takes note of how long it took to look and decide.
func (p *pace) took(begin, end time.Time) {
	p.next = end.Add(min(restFactor*end.Sub(begin), maxRest))
}

// rests reports whether it is too early for another pass.
func (p *pace) rests(now time.Time) bool { return now.Before(p.next) }
