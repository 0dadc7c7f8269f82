package measure

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ticksPerSecond is the unit of processor time in /proc, which Linux fixes for programs.
const ticksPerSecond = 100

// ProcessorSeconds is the user and system time that a process has used. Unlike the time on the clock it hardly depends on
// what else the machine does.
func ProcessorSeconds(pid int) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading processor time, as Linux keeps it: %w", err)
	}
	// The name in parentheses may hold spaces. Behind it, user and system time are the 12th and 13th field.
	text := string(raw)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("reading processor time: %d fields in the state of process %d", len(fields), pid)
	}
	ticks := 0.0
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, fmt.Errorf("reading processor time: %w", err)
		}
		ticks += n
	}
	return ticks / ticksPerSecond, nil
}

// Fields of MemoryMiB.
const (
	Resident     = "VmRSS" // now
	ResidentPeak = "VmHWM" // at most, since the process began
)

// MemoryMiB is one of the memory figures of a process.
func MemoryMiB(pid int, field string) (float64, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading memory, as Linux keeps it: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, field+": %f kB", &kib); err == nil {
			return kib / 1024, nil
		}
	}
	return 0, fmt.Errorf("reading memory: no %s in the status of process %d", field, pid)
}
