package main

import (
	"math"
	"runtime/debug"
	"strconv"
)

// gcPercent is by how much the heap may grow, in percent of what is in use, until garbage is collected. Most of it is caches, which
// stay, and the usual 100 would take as much memory again for garbage.
const gcPercent = 50

// limitShare of what the container may use is what the collector tries to stay below, in percent. The rest is for the program itself.
const limitShare = 90

// saveMemory has the collector keep the process small, and below the memory limit of its container, which the manifests put into
// MEMORY_LIMIT in bytes. GOGC and GOMEMLIMIT, which Go reads itself, win.
func saveMemory(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(softLimit(getenv("MEMORY_LIMIT")))
	}
}

// softLimit is the limit for the collector under a limit in bytes; none if that is none.
func softLimit(limit string) int64 {
	bytes, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || bytes <= 0 {
		return math.MaxInt64
	}
	return bytes / 100 * limitShare
}
