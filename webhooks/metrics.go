package webhooks

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
)

// Verdicts as metrics show them.
const (
	verdictAllowed = "allowed"
	verdictDenied  = "denied"
	verdictFailed  = "failed"
)

var (
	durations = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "workload_operator_admission_duration_seconds",
		Help: "Time to answer an admission request, by webhook and verdict (allowed, denied, failed: no answer could be given).",
		// A call takes well under a millisecond; the API server gives up after five seconds.
		Buckets: []float64{0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5},
	}, []string{"webhook", "verdict"})

	panics = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_admission_panics_total",
		Help: "Panics while answering admission requests, by webhook. Each is a bug.",
	}, []string{"webhook"})

	refusals = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_admission_refusals_total",
		Help: "Rules that refused requests, by kind, version of the request, and the rule's field in v1 as docs/rules.md has it. " +
			"A request that breaks several rules counts for each of them.",
	}, []string{"kind", "version", "rule"})

	warningsGiven = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_admission_warnings_total",
		Help: "Warnings given with answers to admission requests, by webhook.",
	}, []string{"webhook"})
)

// registerMetrics may be called once for each manager of a process.
func registerMetrics(registry prometheus.Registerer) error {
	for _, collector := range []prometheus.Collector{durations, panics, refusals, warningsGiven} {
		known := prometheus.AlreadyRegisteredError{}
		if err := registry.Register(collector); err != nil && !errors.As(err, &known) {
			return err
		}
	}
	return nil
}

func observe(webhook, verdict string, start time.Time) {
	durations.WithLabelValues(webhook, verdict).Observe(time.Since(start).Seconds())
}

func verdictOf(response *admissionv1.AdmissionResponse) string {
	if response.Allowed {
		return verdictAllowed
	}
	return verdictDenied
}
