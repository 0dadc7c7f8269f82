package scale

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/bench/internal/measure"
	"github.com/example/workload-operator/test/controlplane"
)

const (
	image         = "nginx:1.25"
	podsNamespace = "scale-pods"
)

func webAppNamespace(i int) string { return "scale-" + strconv.Itoa(i/perNamespace) }

func webAppName(i int) string { return fmt.Sprintf("app-%06d", i) }

func (r *rig) namespace(name string) {
	r.Helper()
	r.check(client.IgnoreAlreadyExists(r.client.Create(r.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})))
}

// growPods creates PodSets until there are so many Pods in them.
func (r *rig) growPods(total int) {
	r.Helper()
	before := r.setPods
	if total <= before {
		return
	}
	r.namespace(podsNamespace)
	r.grow("Pod of PodSets", total-before, "podset", func() {
		for r.setPods < total {
			n := int32(min(perSet, total-r.setPods))
			p := &batchv1.PodSet{ObjectMeta: metav1.ObjectMeta{Namespace: podsNamespace, Name: fmt.Sprintf("set-%06d", r.setPods)}}
			p.Spec.Image, p.Spec.Replicas = image, &n
			r.check(r.client.Create(r.ctx, p))
			r.setPods += int(n)
		}
	})
}

// growWebApps creates WebApps until there are so many.
func (r *rig) growWebApps(total int) {
	r.Helper()
	before := r.webApps
	for i := before; i < total; i += perNamespace - i%perNamespace {
		r.namespace(webAppNamespace(i))
	}
	r.grow("WebApp", total-before, "webapp", func() {
		var group errgroup.Group
		group.SetLimit(4)
		for i := before; i < total; i++ {
			group.Go(func() error {
				return r.client.Create(r.ctx, newWebApp(i))
			})
		}
		r.check(group.Wait())
		r.webApps = total
	})
}

func newWebApp(i int) *appv1.WebApp {
	w := &appv1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: webAppNamespace(i), Name: webAppName(i)}}
	w.Spec.Image, w.Spec.Port = image, 80
	if *replicas == 0 { // which is said in another way
		w.Spec.Suspend = true
	} else {
		w.Spec.Replicas = new(int32(*replicas))
	}
	return w
}

// grow measures what it takes until the operator has nothing left to do for count new things.
func (r *rig) grow(what string, count int, controller string, create func()) {
	r.Helper()
	begin, used, calls, before := time.Now(), r.used(), r.counted(), r.passes(controller)
	create()
	r.settle()
	each, after, passes := r.since(used, count), r.counted(), r.passes(controller)
	passes.count, passes.seconds = passes.count-before.count, passes.seconds-before.seconds
	r.say("grow", "%d more settled after %.0f s; each %s: processor time %.1f ms of the operator, %.1f of the API server, %.1f in all; %.2f requests, %.2f passes of %.0f ms",
		count, after.last.Sub(begin).Seconds(), what, 1000*each.operator, 1000*each.server, 1000*each.all,
		float64(after.requests-calls.requests)/float64(count), passes.count/float64(count), 1000*passes.seconds/max(passes.count, 1))
	if controller == "webapp" {
		r.ReportMetric(1000*each.operator, "ms/webapp")
	}
}

// passes of a controller, and how long they took together. There is no series before the first.
type passes struct{ count, seconds float64 }

func (r *rig) passes(controller string) passes {
	r.Helper()
	const name = "controller_runtime_reconcile_time_seconds_"
	samples, of := r.scrape(), fmt.Sprintf("{controller=%q", controller)
	if controller == "webapp" && r.webApps == 0 || controller == "podset" && r.setPods == 0 {
		return passes{}
	}
	count, err := samples.Sum(name + "count" + of)
	r.check(err)
	seconds, err := samples.Sum(name + "sum" + of)
	r.check(err)
	return passes{count, seconds}
}

// settle waits until everything is ready and the operator has sent nothing for some seconds.
func (r *rig) settle() {
	r.Helper()
	quiet := 0
	r.poll(2*time.Second, "everything is ready", func() bool {
		fresh, err := r.calls.advance()
		r.check(err)
		if quiet++; fresh > 0 {
			quiet = 0
		}
		return quiet >= 2 && r.idleQueues() && r.ready()
	})
}

// idleQueues says whether no object waits or is worked on.
func (r *rig) idleQueues() bool {
	r.Helper()
	samples := r.scrape()
	depth, err := samples.Sum("workqueue_depth{")
	r.check(err)
	workers, err := samples.Sum("controller_runtime_active_workers{")
	r.check(err)
	return depth+workers == 0
}

// ready says whether every WebApp and PodSet is Ready in its present generation.
func (r *rig) ready() bool {
	r.Helper()
	for _, list := range []client.ObjectList{&appv1.WebAppList{}, &batchv1.PodSetList{}} {
		for more := true; more; more = list.GetContinue() != "" {
			r.check(r.client.List(r.ctx, list, client.Limit(500), client.Continue(list.GetContinue())))
			late := false
			r.check(meta.EachListItem(list, func(item runtime.Object) error {
				late = late || !isReady(item)
				return nil
			}))
			if late {
				return false
			}
		}
	}
	return true
}

func isReady(object any) bool {
	var generation, observed int64
	var conditions []metav1.Condition
	switch o := object.(type) {
	case *appv1.WebApp:
		generation, observed, conditions = o.Generation, o.Status.ObservedGeneration, o.Status.Conditions
	case *batchv1.PodSet:
		generation, observed, conditions = o.Generation, o.Status.ObservedGeneration, o.Status.Conditions
	}
	return observed == generation && meta.IsStatusConditionTrue(conditions, workloadv1.ConditionReady)
}

// footprint reads the memory of the settled operator, and keeps it for the slopes. What is resident counts what the
// collector has not collected yet, so the live heap is read after two collections.
func (r *rig) footprint() {
	r.Helper()
	resident, peak := r.memory(r.operator.PID(), measure.Resident), r.memory(r.operator.PID(), measure.ResidentPeak)
	live := r.liveHeap()
	database, err := os.Stat(filepath.Join(r.plane.Dir(), "etcd", "member", "snap", "db"))
	r.check(err)
	r.say("memory", "operator %.0f MiB resident (%.0f at most), %.1f MiB live heap, %.0f goroutines; API server %.0f MiB resident; etcd %.0f MiB on disk",
		resident, peak, live, r.metric("go_goroutines "), r.memory(r.plane.PID(controlplane.APIServer), measure.Resident), float64(database.Size())/(1<<20))
	r.points = append(r.points, point{webApps: float64(r.webApps), pods: float64(r.pods()), values: []float64{live, resident}})
}

// liveHeap is what the collector found alive. Each scrape leaves garbage behind; it is repeated until that was collected twice.
func (r *rig) liveHeap() float64 {
	r.Helper()
	const collections = "go_gc_cycles_total_gc_cycles_total "
	for want := r.metric(collections) + 2; r.metric(collections) < want; {
		if r.ctx.Err() != nil {
			r.Fatal(r.ctx.Err())
		}
	}
	return r.metric("go_gc_heap_live_bytes ") / (1 << 20)
}

// rest measures the operator while nothing happens.
func (r *rig) rest() {
	r.Helper()
	used, calls := r.used(), r.counted()
	r.pause(*idle)
	spent, after := r.since(used, 1), r.counted()
	r.say("idle", "%d requests in %s; processor time in a minute: %.2f s of the operator, %.2f of the API server",
		after.requests-calls.requests, *idle, spent.operator/idle.Minutes(), spent.server/idle.Minutes())
}
