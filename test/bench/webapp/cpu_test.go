package webapp

import (
	"github.com/example/workload-operator/test/bench/internal/measure"
	"github.com/example/workload-operator/test/controlplane"
)

// processorTime is how many seconds of processor time the control plane and the operator have used. Unlike the time on the
// clock it hardly depends on what else the machine does. Zero where there is no /proc.
func (b *bench) processorTime() float64 {
	sum := secondsOf(b.operator.PID())
	for _, part := range controlplane.AllParts() {
		sum += secondsOf(b.plane.PID(part))
	}
	return sum
}

// secondsOf returns the user and system time of a process, or zero.
func secondsOf(pid int) float64 {
	seconds, err := measure.ProcessorSeconds(pid)
	if err != nil {
		return 0
	}
	return seconds
}
