package main

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// buildInfo is how rules and dashboards find the operator among everything that is scraped.
var buildInfo = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "workload_operator_build_info",
	Help: "Always 1, with the version of this replica.",
}, []string{"version"})

func init() {
	metrics.Registry.MustRegister(buildInfo)
	buildInfo.WithLabelValues(version()).Set(1)
}
