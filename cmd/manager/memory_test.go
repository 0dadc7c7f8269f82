package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestSoftLimit(t *testing.T) {
	for limit, want := range map[string]int64{
		"536870912": 483183810, // 512 MiB
		"":          math.MaxInt64,
		"0":         math.MaxInt64,
		"-1":        math.MaxInt64,
		"512Mi":     math.MaxInt64, // the manifests give bytes
	} {
		if got := softLimit(limit); got != want {
			t.Errorf("under a limit of %q it is %d, want %d", limit, got, want)
		}
	}
}

// What the user says in the environment is left alone.
func TestSaveMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(1<<40)
	t.Cleanup(func() { debug.SetGCPercent(percent); debug.SetMemoryLimit(limit) })
	env := map[string]string{"GOGC": "77", "GOMEMLIMIT": "1TiB", "MEMORY_LIMIT": "536870912"}
	getenv := func(name string) string { return env[name] }
	saveMemory(getenv)
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("GOGC=77, and the collector runs at %d", got)
	}
	if got := debug.SetMemoryLimit(-1); got != 1<<40 {
		t.Errorf("GOMEMLIMIT=1TiB, and the limit is %d", got)
	}
	clear(env)
	env["MEMORY_LIMIT"] = "536870912"
	saveMemory(getenv)
	if got := debug.SetGCPercent(77); got != gcPercent {
		t.Errorf("the collector runs at %d, want %d", got, gcPercent)
	}
	if got := debug.SetMemoryLimit(-1); got != 483183810 {
		t.Errorf("the limit is %d", got)
	}
}
