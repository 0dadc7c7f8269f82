package objectmetrics

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	objects = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_objects",
		Help: "Objects that this replica reconciles, by kind, and by status and reason of the condition Ready.",
	}, []string{"kind", "ready", "reason"})

	degraded = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_objects_conversion_degraded",
		Help: "Objects with the condition ConversionDegraded: values of the older version wait unread in an annotation.",
	}, []string{"kind"})

	backingOff = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "workload_operator_podsets_backing_off",
		Help: "PodSets whose Pods fail one after the other, so that new ones are held back for growing times.",
	})

	writes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_child_writes_total",
		Help: "Writes to children that succeeded, by kind of the owner, kind of the child and verb.",
	}, []string{"owner", "child", "verb"})

	repairs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_drift_repaired_total",
		Help: "Children that were brought back after somebody else changed or deleted them, by kind of the owner and kind of the child.",
	}, []string{"owner", "child"})
)

func init() {
	metrics.Registry.MustRegister(objects, degraded, backingOff, writes, repairs)
}

// Wrote counts n writes to children of one kind.
func Wrote(owner, child, verb string, n int) {
	if n > 0 {
		writes.WithLabelValues(owner, child, verb).Add(float64(n))
	}
}

// Repaired counts n children of one kind that were brought back.
func Repaired(owner, child string, n int) {
	if n > 0 {
		repairs.WithLabelValues(owner, child).Add(float64(n))
	}
}
