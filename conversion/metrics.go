package conversion

import (
	"errors"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics of the handler. Labels have few values: kind and versions of ours, or nothing.
type metrics struct {
	duration    *prometheus.HistogramVec
	objects     prometheus.Histogram
	kept        prometheus.Histogram
	quarantined *prometheus.CounterVec
	malformed   *prometheus.CounterVec
	lossy       *prometheus.CounterVec
	panics      prometheus.Counter
	refused     *prometheus.CounterVec
}

const metricPrefix = "workload_operator_conversion_"

func newMetrics(registerer prometheus.Registerer) *metrics {
	way := []string{"kind", "from", "to"}
	return &metrics{
		duration: registered(registerer, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    metricPrefix + "duration_seconds",
			Help:    "Time to answer a conversion review, by kind and version of its objects and by result (success, failure).",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"kind", "from", "to", "result"})),
		objects: registered(registerer, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    metricPrefix + "objects_per_review",
			Help:    "Objects in a conversion review.",
			Buckets: []float64{1, 10, 50, 100, 500, 1000, 5000, 10000},
		})),
		kept: registered(registerer, prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    metricPrefix + "kept_bytes",
			Help:    "Size of the annotation with fields that only the newest version has, on objects that have one.",
			Buckets: prometheus.ExponentialBuckets(64, 4, 8),
		})),
		quarantined: registered(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "quarantined_objects_total",
			Help: "Objects converted with a value that could not be read and waits in an annotation.",
		}, way)),
		malformed: registered(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "malformed_annotations_total",
			Help: "Objects converted with an annotation of this operator that could not be read, or not in full.",
		}, way)),
		lossy: registered(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "lossy_objects_total",
			Help: "Objects converted with a loss, because the annotations would have become too large.",
		}, way)),
		panics: registered(registerer, prometheus.NewCounter(prometheus.CounterOpts{
			Name: metricPrefix + "panics_total",
			Help: "Conversions that ended in a panic, which is always a mistake in the operator.",
		})),
		refused: registered(registerer, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: metricPrefix + "refused_requests_total",
			Help: "Requests that were refused before any conversion, by HTTP status.",
		}, []string{"code"})),
	}
}

// registered registers a metric, or returns the one that is registered already.
func registered[C prometheus.Collector](registerer prometheus.Registerer, metric C) C {
	if registerer == nil {
		return metric
	}
	err := registerer.Register(metric)
	var before prometheus.AlreadyRegisteredError
	if errors.As(err, &before) {
		if existing, ok := before.ExistingCollector.(C); ok {
			return existing
		}
	}
	if err != nil {
		panic("registering metrics of conversion: " + err.Error()) //nolint:forbidigo // a mistake at start-up, as in MustRegister
	}
	return metric
}

// observe notes one answered review.
func (m *metrics) observe(a answer, took time.Duration) {
	to := a.to[strings.LastIndexByte(a.to, '/')+1:]
	if a.kind == "" {
		to = "" // nothing of ours: whatever was asked for is no label
	}
	m.duration.WithLabelValues(a.kind, a.from, to, a.result()).Observe(took.Seconds())
	m.objects.Observe(float64(a.objects))
	for _, size := range a.kept {
		m.kept.Observe(float64(size))
	}
	add(m.quarantined, a.quarantined, a.kind, a.from, to)
	add(m.malformed, a.malformed, a.kind, a.from, to)
	add(m.lossy, a.lost, a.kind, a.from, to)
	if a.panicked {
		m.panics.Inc()
	}
}

// add counts n, so that a label set shows only once there is something to count.
func add(counter *prometheus.CounterVec, n int, labels ...string) {
	if n > 0 {
		counter.WithLabelValues(labels...).Add(float64(n))
	}
}
