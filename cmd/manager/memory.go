package main

import (
	"os"
	"runtime/debug"
)

// gcPercent is by how much the heap may grow, in percent of what is in use, until garbage is collected. Most of it is caches, which
// stay, and the usual 100 would take as much memory again for garbage.
const gcPercent = 50

// saveMemory applies gcPercent, unless the environment says something else.
func saveMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
