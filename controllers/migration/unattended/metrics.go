package unattended

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/workload-operator/controllers/migration"
)

var (
	pending = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_migration_pending",
		Help: "1 while objects of a CustomResourceDefinition may be stored in another version than its storage version.",
	}, []string{"crd"})

	done = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_migration_objects_done",
		Help: "Objects that the present or latest phase of a migration has seen, by phase.",
	}, []string{"crd", "phase"})

	total = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_migration_objects",
		Help: "Objects that the present or latest phase of a migration has to see, as far as known, by phase.",
	}, []string{"crd", "phase"})

	refused = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_migration_objects_refused",
		Help: "Objects that the present or latest migration could not write.",
	}, []string{"crd"})

	waiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_migration_waiting",
		Help: "1 while a migration waits for something; the log says for what.",
	}, []string{"crd"})

	runs = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_migration_runs_total",
		Help: "Migrations that ended, by result: complete, incomplete, error.",
	}, []string{"crd", "result"})
)

func init() {
	metrics.Registry.MustRegister(pending, done, total, refused, waiting, runs)
}

// record shows the progress of a run.
func record(p migration.Progress) {
	if p.Phase == migration.PhaseWaiting {
		waiting.WithLabelValues(p.CRD).Set(1)
		return
	}
	waiting.WithLabelValues(p.CRD).Set(0)
	refused.WithLabelValues(p.CRD).Set(float64(p.Refused))
	if p.Phase == migration.PhaseRewriting || p.Phase == migration.PhaseVerifying {
		done.WithLabelValues(p.CRD, string(p.Phase)).Set(float64(p.Done))
		total.WithLabelValues(p.CRD, string(p.Phase)).Set(float64(p.Total))
	}
}
