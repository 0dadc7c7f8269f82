package webapp

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/example/workload-operator/test/controlplane"
)

// ticksPerSecond is the unit of processor time in /proc, which Linux fixes for programs.
const ticksPerSecond = 100

// processorTime is how many seconds of processor time the control plane and the operator have used. Unlike the time on the
// clock it hardly depends on what else the machine does. Zero where there is no /proc.
func (b *bench) processorTime() float64 {
	sum := secondsOf(b.operator.PID())
	for _, part := range controlplane.AllParts() {
		sum += secondsOf(b.plane.PID(part))
	}
	return sum
}

// secondsOf returns the user and system time of a process.
func secondsOf(pid int) float64 {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	// The name in parentheses may hold spaces. Behind it, user and system time are the 12th and 13th field.
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	ticks := 0.0
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0
		}
		ticks += n
	}
	return ticks / ticksPerSecond
}
