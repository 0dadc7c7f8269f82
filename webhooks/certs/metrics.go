package certs

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var (
	expiry = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "workload_operator_certificate_expiry_timestamp_seconds",
		Help: "When the certificate in use ends, as Unix time, by role: serving, authority (the first to end of those published).",
	}, []string{"role"})

	unusable = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "workload_operator_certificate_secret_unusable",
		Help: "1 while the certificate Secret is missing or holds what cannot be served. What was served before is served on.",
	})

	injections = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_certificate_injections_total",
		Help: "Writes of a caBundle, by kind and name of the object.",
	}, []string{"kind", "name"})

	rotations = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "workload_operator_certificate_rotations_total",
		Help: "Writes of the certificate Secret by this replica, by step.",
	}, []string{"step"})
)

func init() {
	metrics.Registry.MustRegister(expiry, unusable, injections, rotations)
}

// recordExpiry shows the ends of what is served from now on.
func recordExpiry(m *material) {
	expiry.WithLabelValues("serving").Set(float64(m.leaf().NotAfter.Unix()))
	first := m.bundle[0].NotAfter
	for _, authority := range m.bundle[1:] {
		if authority.NotAfter.Before(first) {
			first = authority.NotAfter
		}
	}
	expiry.WithLabelValues("authority").Set(float64(first.Unix()))
}
