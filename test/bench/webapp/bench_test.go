package webapp

import (
	"context"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const (
	patience    = 5 * time.Minute
	defaultIdle = 30 * time.Second

	operatorUser = "system:serviceaccount:" + operator.Namespace + ":workload-operator-controller-manager"
)

// BenchmarkUntilAvailable creates WebApps and waits until all are available, and does the same with a plain client that
// creates the Deployments and Services itself. Rounds of the two take turns on one plane; who begins alternates. What
// earlier rounds created stays, so that no deletion disturbs a round. The ratios are those of the medians; that of the
// processor time of control plane and operator says what to expect where nothing but the processors is short.
func BenchmarkUntilAvailable(b *testing.B) {
	x := start(b)
	for b.Loop() {
		took, spent := map[string][]float64{}, map[string][]float64{}
		for i := range *rounds {
			order := []contender{plain, ours}
			if i%2 == 1 {
				slices.Reverse(order)
			}
			for _, k := range order {
				before := x.processorTime()
				took[k.name] = append(took[k.name], x.round(k, *webApps).Seconds())
				spent[k.name] = append(spent[k.name], x.processorTime()-before)
			}
			b.Logf("round %d: %d pairs in %.1f s (%.1f s of processor time), WebApps in %.1f s (%.1f s)", i+1, *webApps,
				took[plain.name][i], spent[plain.name][i], took[ours.name][i], spent[ours.name][i])
		}
		b.ReportMetric(median(took[ours.name]), "webapps-s")
		b.ReportMetric(median(took[plain.name]), "pairs-s")
		b.ReportMetric(median(took[ours.name])/median(took[plain.name]), "ratio")
		b.ReportMetric(median(spent[ours.name])/max(median(spent[plain.name]), 0.01), "cpu-ratio")
	}
}

// round returns how long it takes until all applications of one contender are available.
func (b *bench) round(k contender, count int) time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	namespace := b.namespace()
	watch, err := b.free.Watch(ctx, k.list, client.InNamespace(namespace))
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return createAll(ctx, b.limited, k, namespace, count) })
	group.Go(func() error { return awaitAll(ctx, watch, k, count) })
	if err := group.Wait(); err != nil {
		b.Fatalf("%s: %v", k.name, err)
	}
	return time.Since(start)
}

func (b *bench) namespace() string {
	b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"}}
	if err := b.free.Create(b.Context(), namespace); err != nil {
		b.Fatal(err)
	}
	return namespace.Name
}

// BenchmarkFootprint measures the operator around settled WebApps: what bringing them there cost, what watching over them
// costs, and how much memory they take.
func BenchmarkFootprint(b *testing.B) {
	x := start(b)
	for b.Loop() {
		const processor, passes = "process_cpu_seconds_total ", `controller_runtime_reconcile_total{controller="webapp"`
		before, passesBefore := x.metric(processor), x.metric(passes)
		offset := x.end()
		x.round(ours, 1) // everything has been used once
		namespace := x.namespace()
		watch, err := x.free.Watch(b.Context(), ours.list, client.InNamespace(namespace))
		if err != nil {
			b.Fatal(err)
		}
		if err := createAll(b.Context(), x.limited, ours, namespace, *footprint); err != nil {
			b.Fatal(err)
		}
		if err := awaitAll(b.Context(), watch, ours, *footprint); err != nil {
			b.Fatal(err)
		}
		x.settles()
		settled := x.metric(processor)
		b.ReportMetric(settled-before, "cpu-s-to-settle")
		b.ReportMetric((x.metric(passes)-passesBefore)/float64(*footprint), "passes/webapp")
		b.ReportMetric(float64(x.requests(offset))/float64(*footprint), "requests/webapp")
		offset = x.end()
		x.pause(*idle)
		b.ReportMetric((x.metric(processor)-settled)/idle.Minutes(), "cpu-s/idle-minute")
		b.ReportMetric(float64(x.requests(offset)), "idle-requests")
		b.ReportMetric(x.metric("process_resident_memory_bytes ")/(1<<20), "rss-MiB")
		b.ReportMetric(x.metric("go_memstats_heap_inuse_bytes ")/(1<<20), "heap-MiB")
	}
}

func (b *bench) end() int64 {
	b.Helper()
	end, err := b.plane.AuditLog.End()
	if err != nil {
		b.Fatal(err)
	}
	return end
}

// requests counts what the operator asked of the API server since offset, apart from its Lease, certificates, and
// watches that the API server ended.
func (b *bench) requests(offset int64) int {
	b.Helper()
	count := 0
	_, err := b.plane.AuditLog.Read(offset, func(r *controlplane.Request) {
		if ofReconciler(r) {
			count++
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	return count
}

// settles waits until the operator has sent nothing for a few seconds.
func (b *bench) settles() {
	b.Helper()
	offset := b.end()
	b.poll(6*time.Second, func() bool {
		from := offset
		offset = b.end()
		return b.requests(from) == 0
	})
}

// poll waits until done, which is asked anew in each interval.
func (b *bench) poll(interval time.Duration, done func() bool) {
	b.Helper()
	err := wait.PollUntilContextTimeout(b.Context(), interval, patience, false, func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		b.Fatal(err)
	}
}

// pause lets the operator be for a while.
func (b *bench) pause(d time.Duration) {
	b.Helper()
	start := time.Now()
	b.poll(d, func() bool { return time.Since(start) >= d })
}

// ofReconciler says whether the request was sent by a reconciler of the operator.
func ofReconciler(r *controlplane.Request) bool {
	return r.User == operatorUser && r.Verb != "watch" && r.Resource != "leases" && r.Namespace != operator.Namespace
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
