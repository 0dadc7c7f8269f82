package podset

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// shown is the sum of a metric's series that have these label values, whatever else ran before in this process.
func shown(t *testing.T, name string, values ...string) (sum float64) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			has := map[string]bool{}
			for _, label := range metric.GetLabel() {
				has[label.GetValue()] = true
			}
			wanted := true
			for _, value := range values {
				wanted = wanted && has[value]
			}
			if wanted {
				sum += metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// Every kind of write shows, and a label that was put back is drift.
func TestWritesAreCounted(t *testing.T) {
	verbs := map[string]float64{"create": 1, "delete": 2, "update": 3, "adopt": 4, "release": 5, "relabel": 6}
	before := map[string]float64{}
	for verb := range verbs {
		before[verb] = shown(t, "workload_operator_child_writes_total", "PodSet", "Pod", verb)
	}
	repaired := shown(t, "workload_operator_drift_repaired_total", "PodSet", "Pod")
	countWrites(outcome{created: 1, deleted: 2, updated: 3, adopted: 4, released: 5, relabelled: 6})
	for verb, n := range verbs {
		if got := shown(t, "workload_operator_child_writes_total", "PodSet", "Pod", verb) - before[verb]; got != n {
			t.Errorf("%v writes of %s, want %v", got, verb, n)
		}
	}
	if got := shown(t, "workload_operator_drift_repaired_total", "PodSet", "Pod") - repaired; got != 6 {
		t.Errorf("%v repaired, want 6", got)
	}
}
