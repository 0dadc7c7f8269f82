// CustomResourceDefinitions of others that we make objects of: those of cert-manager and of the Prometheus operator. The tests of
// test/helm read them where go mod download says, and ask an API server that has them.
module github.com/example/workload-operator/tools/foreign

go 1.26.0

require (
	github.com/cert-manager/cert-manager v1.21.2
	github.com/prometheus-operator/prometheus-operator v0.85.0
)
