package scale

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/example/workload-operator/test/bench/internal/measure"
)

// BenchmarkScale prints a line for each measurement. The cluster only grows, so that it runs once, whatever b.N is.
func BenchmarkScale(b *testing.B) {
	all, err := numbers()
	if err != nil {
		b.Fatal(err)
	}
	r := start(b)
	fmt.Fprintln(os.Stdout, setting())
	r.settle()
	r.footprint()
	for _, n := range all {
		r.growPods(n * (*ratio - *replicas))
		r.footprint()
		r.growWebApps(n)
		r.rest()
		r.footprint()
		r.coldStart()
		r.lists()
		r.watches()
		r.rebuild()
	}
	r.slopes()
	b.ReportMetric(0, "ns/op")
}

// coldStart replaces the operator and measures until it has looked at everything once, which must change nothing.
func (r *rig) coldStart() {
	r.Helper()
	r.check(r.operator.Stop())
	before := r.counted()
	server := r.plane.PID("kube-apiserver")
	used, err := measure.ProcessorSeconds(server)
	r.check(err)
	begin := time.Now()
	r.check(r.operator.Start(r.ctx))
	ready := time.Since(begin)
	r.poll(500*time.Millisecond, "the operator has looked at everything", r.lookedAtAll)
	done, spent := time.Since(begin), r.used()
	r.settle()
	after := r.counted()
	r.say("start", "ready after %.1f s, everything looked at after %.1f s; processor time %.1f s of the operator, %.1f of the API server; "+
		"%d writes, %d other requests; %.0f MiB resident at most", ready.Seconds(), done.Seconds(), spent.operator, spent.server-used,
		after.writes-before.writes, after.requests-before.requests-(after.writes-before.writes), r.memory(r.operator.PID(), measure.ResidentPeak))
	if n := after.writes - before.writes; n != 0 {
		r.Errorf("%d writes after a restart, although nothing had changed", n)
	}
	r.starts = append(r.starts, point{webApps: float64(r.webApps), pods: float64(r.pods()), values: []float64{done.Seconds(), spent.operator}})
}

// lookedAtAll says whether every object has had a pass and none waits.
func (r *rig) lookedAtAll() bool {
	r.Helper()
	samples := r.scrape()
	for controller, objects := range map[string]int{"webapp": r.webApps, "podset": (r.setPods + perSet - 1) / perSet} {
		passes, err := samples.Sum(fmt.Sprintf("controller_runtime_reconcile_total{controller=%q", controller))
		if err != nil || passes < float64(objects) { // absent until the controller has started
			return false
		}
	}
	return r.idleQueues()
}
