package conversion_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
)

// contender is one of several ways to do the same work.
type contender struct {
	name string
	run  func()
}

// measured is what the rounds of a contender took.
type measured struct {
	wall           []time.Duration // of one call, by round
	cpu            time.Duration
	mallocs, bytes uint64
	calls          int
}

// batchTime is about how long a contender runs in one round, so that clocks are fine enough.
const batchTime = time.Millisecond

// compare runs contenders by turns, so that whatever else the machine does hits all of them, and prints for each what one of n
// objects takes: time by the clock (the median of the rounds), CPU time with what the garbage collector took, allocations. Its
// metrics are those of the first contender, and x-NAME: the second contender's time by the first one's (how many times faster),
// and the first one's by that of each other.
func compare(b *testing.B, n int, contenders []contender) {
	batches, results := make([]int, len(contenders)), make([]measured, len(contenders))
	for i, c := range contenders {
		start := time.Now()
		c.run()
		batches[i] = 1 + int(batchTime/(time.Since(start)+1))
	}
	for b.Loop() {
		for i, c := range contenders {
			results[i].round(batches[i], c.run)
		}
	}
	b.ReportMetric(0, "ns/op") // of a whole round, which says nothing
	for i, c := range contenders {
		each := float64(results[i].calls * n)
		b.Logf("%-17s %9.0f ns/object  %9.0f cpu-ns/object %9.2f allocs/object %9.0f B/object", c.name, results[i].median()/float64(n),
			float64(results[i].cpu)/each, float64(results[i].mallocs)/each, float64(results[i].bytes)/each)
		ratio, cpuRatio := results[0].median()/results[i].median(), results[0].perCall()/results[i].perCall()
		switch i {
		case 0:
			b.ReportMetric(results[i].median()/float64(n), "ns/object")
			b.ReportMetric(float64(results[i].mallocs)/each, "allocs/object")
			b.ReportMetric(float64(results[i].bytes)/each, "B/object")
			continue
		case 1:
			ratio, cpuRatio = 1/ratio, 1/cpuRatio
		}
		b.ReportMetric(ratio, "x-"+c.name)
		b.ReportMetric(cpuRatio, "x-"+c.name+"-cpu")
	}
}

func (m *measured) round(calls int, run func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	for range calls {
		run()
	}
	m.wall = append(m.wall, time.Since(start)/time.Duration(calls))
	m.cpu += cpuTime() - cpu
	runtime.ReadMemStats(&after)
	m.calls += calls
	m.mallocs += after.Mallocs - before.Mallocs
	m.bytes += after.TotalAlloc - before.TotalAlloc
}

func (m *measured) median() float64 {
	slices.Sort(m.wall)
	return float64(m.wall[len(m.wall)/2])
}

func (m *measured) perCall() float64 { return float64(m.cpu) / float64(m.calls) }

// cpuTime is what this process took of the processors so far.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(fmt.Sprintf("reading the CPU time: %v", err))
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
