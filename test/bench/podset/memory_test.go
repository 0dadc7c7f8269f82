package podset

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// residentMB reads one of the memory figures that Linux keeps of a process.
func residentMB(b *testing.B, pid int, field string) float64 {
	b.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatalf("the memory of a process is read from /proc, as on Linux: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		var kib float64
		if _, err := fmt.Sscanf(line, field+": %f kB", &kib); err == nil {
			return kib / 1024
		}
	}
	b.Fatalf("no %s in the status of process %d", field, pid)
	return 0
}
