package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/example/workload-operator/cmd/manager/internal/claims"
	"github.com/example/workload-operator/test/monitoring"
)

// TestMetricsAreDocumented holds docs/metrics.md to the registry, in both directions: each metric of the operator has a row with its
// type, labels and help text, and each row is a metric.
func TestMetricsAreDocumented(t *testing.T) {
	documented, err := monitoring.Documented(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	server, err := listenWebhooks(t.Context(), &options{webhookHost: "127.0.0.1", tlsVersion: "1.3"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.listener.Close()
	p := &process{options: &options{claim: claims.Claim{Webhooks: true}}}
	if err := p.serve(hooksOnly{server: server}); err != nil {
		t.Fatal(err)
	}
	var ours []string
	for name, m := range documented {
		if !strings.HasPrefix(name, monitoring.Prefix) {
			continue
		}
		ours = append(ours, name)
		if got := registeredAs(m); got != m.Type {
			t.Errorf("%s: %s, want a %s with labels %v and the help text %q", name, got, m.Type, m.Labels, m.Meaning)
		}
	}
	slices.Sort(ours)
	if diff := cmp.Diff(metricsInSource(t), ours); diff != "" {
		t.Errorf("metrics (-source +docs/metrics.md):\n%s", diff)
	}
}

// registeredAs is the type of the metric that is registered with exactly this name, these labels and this help text. The registry tells
// no one what it has, but it says whether a collector like this one is there already.
func registeredAs(m monitoring.Metric) string {
	opts := prometheus.Opts{Name: m.Name, Help: m.Meaning}
	err := metrics.Registry.Register(prometheus.NewGaugeVec(prometheus.GaugeOpts(opts), m.Labels))
	known := prometheus.AlreadyRegisteredError{}
	switch {
	case err == nil:
		return "not registered"
	case !errors.As(err, &known):
		return "registered with other labels or another text"
	}
	switch known.ExistingCollector.(type) {
	case *prometheus.CounterVec, prometheus.Counter:
		if _, gauge := known.ExistingCollector.(prometheus.Gauge); !gauge {
			return "counter"
		}
		return "gauge"
	case *prometheus.GaugeVec:
		return "gauge"
	}
	return "histogram"
}

// hooksOnly is all of a manager that serving the webhooks needs.
type hooksOnly struct {
	ctrl.Manager
	server webhook.Server
}

func (h hooksOnly) GetWebhookServer() webhook.Server { return h.server }

func (hooksOnly) Add(manager.Runnable) error { return nil }

var metricName = regexp.MustCompile(`(?:"(workload_operator_[a-z_]+[a-z])"|metricPrefix \+ "([a-z_]+)")`)

// metricsInSource are the names that the source of the operator gives to metrics.
func metricsInSource(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, folder := range []string{"cmd/manager", "controllers", "conversion", "webhooks"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range metricName.FindAllStringSubmatch(string(source), -1) {
				if match[2] != "" {
					match[1] = monitoring.Prefix + "conversion_" + match[2]
				}
				names = append(names, match[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	return names
}
