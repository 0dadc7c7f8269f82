package migration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	objects "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/etcd"
)

var (
	number   = flag.Int("objects", 10000, "objects to migrate")
	few      = flag.Int("few", 1000, "objects of the first run, whose memory is compared")
	qps      = flag.Float64("qps", 5000, "requests per second, for everybody")
	rtt      = flag.Duration("rtt", 0, "time on the way that every request of the engine and of the script takes more; the native migration is spared")
	patience = flag.Duration("patience", 5*time.Minute, "how long the native migration may take")
	workers  = flag.Int("workers", migration.DefaultWorkers, "workers of the engine")
)

const (
	crdName = "webapps.app.example.com"
	group   = "app.example.com"
)

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	webApps     = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "webapps"}
)

// bench is a plane with the garbage collector, which the native migration needs, and our converter in this process.
type bench struct {
	*testing.B
	plane  *controlplane.Plane
	client dynamic.Interface
	etcd   *etcd.Client
	config *rest.Config
}

func start(b *testing.B) *bench {
	b.Helper()
	fast := []string{fmt.Sprintf("--kube-api-qps=%g", *qps), fmt.Sprintf("--kube-api-burst=%g", 2**qps)}
	plane, err := controlplane.Start(b.Context(), controlplane.Options{
		Parts: []controlplane.Part{controlplane.ControllerManager}, Log: os.Stderr,
		ExtraArgs: map[controlplane.Part][]string{controlplane.ControllerManager: fast},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			b.Errorf("stopping the plane: %v", err)
		}
	})
	x := &bench{B: b, plane: plane, config: plane.RESTConfig()}
	x.config.QPS, x.config.Burst = float32(*qps), int(2**qps)
	x.config.WarningHandler, x.config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	x.config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &distant{next: next, rtt: rtt} })
	if x.client, err = dynamic.NewForConfig(x.config); err != nil {
		b.Fatal(err)
	}
	if x.etcd, err = etcd.Open(plane); err != nil {
		b.Fatal(err)
	}
	x.install()
	return x
}

// distant makes requests take longer.
type distant struct {
	next http.RoundTripper
	rtt  *time.Duration
}

func (d *distant) RoundTrip(r *http.Request) (*http.Response, error) {
	if *d.rtt > 0 {
		<-time.After(*d.rtt)
	}
	return d.next.RoundTrip(r)
}

func (x *bench) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

// install creates the definition of WebApp, storing v1alpha1.
func (x *bench) install() {
	x.Helper()
	server := httptest.NewTLSServer(conversion.NewHandler(conversion.HandlerOptions{}))
	x.Cleanup(server.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	crds, err := config.CRDsAt(config.StepR2)
	x.must(err)
	for _, crd := range crds {
		if crd.Name != crdName {
			continue
		}
		content, err := objects.DefaultUnstructuredConverter.ToUnstructured(crd)
		x.must(err)
		delete(content, "status")
		client := map[string]any{"url": server.URL + "/convert", "caBundle": base64.StdEncoding.EncodeToString(authority)}
		x.must(unstructured.SetNestedMap(content, client, "spec", "conversion", "webhook", "clientConfig"))
		_, err = x.client.Resource(definitions).Create(x.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
		x.must(err)
	}
	x.must(wait.PollUntilContextTimeout(x.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := x.client.Resource(webApps).List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, nil
	}))
}

// create makes the objects from one number to another.
func (x *bench) create(from, to int) {
	x.Helper()
	group, ctx := errgroup.WithContext(x.Context())
	group.SetLimit(16)
	for i := from; i < to; i++ {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": webApps.GroupVersion().String(), "kind": "WebApp", "metadata": map[string]any{"name": fmt.Sprintf("app-%06d", i)},
			"spec": map[string]any{"image": "reg:5000/web:1.25", "replicas": int64(3), "args": []any{"--verbose"},
				"env": []any{map[string]any{"name": "A", "value": "1"}, map[string]any{"name": "B", "value": "2"}}},
			"status": map[string]any{"observedGeneration": int64(1)},
		}}
		group.Go(func() error {
			_, err := x.client.Resource(webApps).Namespace("default").Create(ctx, object, metav1.CreateOptions{FieldManager: "bench"})
			return err
		})
	}
	x.must(group.Wait())
}

// store makes a version the storage version, and waits until the API server writes it.
func (x *bench) store(version string) {
	x.Helper()
	crd, err := x.client.Resource(definitions).Get(x.Context(), crdName, metav1.GetOptions{})
	x.must(err)
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	x.must(err)
	for _, v := range versions {
		v.(map[string]any)["storage"] = v.(map[string]any)["name"] == version
	}
	x.must(unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
	_, err = x.client.Resource(definitions).Update(x.Context(), crd, metav1.UpdateOptions{})
	x.must(err)
	key := etcd.Prefix(webApps.GroupResource()) + "default/"
	x.must(wait.PollUntilContextTimeout(x.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		probe := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": webApps.GroupVersion().String(), "kind": "WebApp", "metadata": map[string]any{"name": "probe"}, "spec": map[string]any{"image": "a"},
		}}
		// A failure: it is not served yet, or being taken over.
		created, _ := x.client.Resource(webApps).Namespace("default").Create(ctx, probe, metav1.CreateOptions{})
		if created == nil {
			return false, nil
		}
		entries, err := x.etcd.List(ctx, key+"probe")
		if err != nil || len(entries) != 1 {
			return false, err
		}
		return entries[0].APIVersion() == group+"/"+version, x.client.Resource(webApps).Namespace("default").Delete(ctx, "probe", metav1.DeleteOptions{})
	}))
}

// check fails unless every object is stored in a version.
func (x *bench) check(version string, want int) {
	x.Helper()
	entries, err := x.etcd.List(x.Context(), etcd.Prefix(webApps.GroupResource()))
	x.must(err)
	for _, entry := range entries {
		if entry.APIVersion() == group+"/"+version {
			want--
		}
	}
	if want != 0 {
		x.Fatalf("%d objects of %d are not stored in %s", want, len(entries), version)
	}
}

// pace is how long the phases of a run took, and the most memory that was in use after a collection.
type pace struct {
	rewriting, all time.Duration
	live           uint64
}

// ours migrates with the engine, including the verification.
func (x *bench) ours(o migration.Options, watchMemory bool) pace {
	x.Helper()
	var begin, verifying time.Time
	result, seen := pace{}, 0
	o.QPS, o.Workers, o.SettleDelay, o.Poll = float32(*qps), *workers, time.Millisecond, 100*time.Millisecond
	o.Observe = func(p migration.Progress) {
		switch {
		case p.Phase == migration.PhaseRewriting && begin.IsZero():
			begin = time.Now()
		case p.Phase == migration.PhaseVerifying && verifying.IsZero():
			verifying = time.Now()
		}
		if seen++; watchMemory && seen%max(1, *few/4) == 0 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			result.live = max(result.live, m.HeapAlloc)
		}
	}
	engine, err := migration.New(x.config, o)
	x.must(err)
	report, err := engine.Run(x.Context(), crdName)
	x.must(err)
	if !report.Complete() {
		x.Fatalf("%+v", report)
	}
	result.rewriting, result.all = verifying.Sub(begin), time.Since(begin)
	return result
}

// natively asks the cluster to migrate. Its migrator waits until the garbage collector has seen an event of the resource that is newer
// than the request, and looks at growing intervals whether it has: on a quiet cluster that takes minutes. So a probe is made and deleted,
// and the request is touched, every second.
func (x *bench) natively() (took time.Duration, over bool) {
	x.Helper()
	client, err := kubernetes.NewForConfig(x.config)
	x.must(err)
	begin := time.Now()
	created, err := client.StoragemigrationV1().StorageVersionMigrations().Create(x.Context(), &storagemigrationv1.StorageVersionMigration{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-"},
		Spec:       storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: group, Resource: "webapps"}},
	}, metav1.CreateOptions{})
	x.must(err)
	err = wait.PollUntilContextTimeout(x.Context(), time.Second, *patience, true, func(ctx context.Context) (bool, error) {
		x.nudge(created.Name)
		now, err := client.StoragemigrationV1().StorageVersionMigrations().Get(ctx, created.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		if failed := meta.FindStatusCondition(now.Status.Conditions, string(storagemigrationv1.MigrationFailed)); failed != nil && failed.Status == metav1.ConditionTrue {
			return false, fmt.Errorf("the native migration failed: %s", failed.Message)
		}
		return meta.IsStatusConditionTrue(now.Status.Conditions, string(storagemigrationv1.MigrationSucceeded)), nil
	})
	if wait.Interrupted(err) {
		x.Logf("the cluster's own migration is not over after %s: its rate is left out", *patience)
		return *patience, false
	}
	x.must(err)
	return time.Since(begin), true
}

// nudge makes an event of the resource, and one of the request to migrate.
func (x *bench) nudge(migration string) {
	x.Helper()
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": webApps.GroupVersion().String(), "kind": "WebApp", "metadata": map[string]any{"name": "probe"}, "spec": map[string]any{"image": "a"},
	}}
	_, err := x.client.Resource(webApps).Namespace("default").Create(x.Context(), probe, metav1.CreateOptions{})
	x.must(err)
	x.must(x.client.Resource(webApps).Namespace("default").Delete(x.Context(), "probe", metav1.DeleteOptions{}))
	touch := fmt.Appendf(nil, `{"metadata":{"annotations":{"nudged":%q}}}`, time.Now())
	_, err = x.client.Resource(storagemigrationv1.SchemeGroupVersion.WithResource("storageversionmigrations")).
		Patch(x.Context(), migration, types.MergePatchType, touch, metav1.PatchOptions{})
	x.must(err)
}

// sequentially lists and patches, as a script would do it.
func (x *bench) sequentially() time.Duration {
	x.Helper()
	begin := time.Now()
	list, err := x.client.Resource(webApps).List(x.Context(), metav1.ListOptions{})
	x.must(err)
	for _, item := range list.Items {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": item.GetResourceVersion()}})
		x.must(err)
		_, err = x.client.Resource(webApps).Namespace(item.GetNamespace()).Patch(x.Context(), item.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		x.must(err)
	}
	return time.Since(begin)
}

// byKubectl is the script that the documentation of Kubernetes used to show. Its rate limit is that of kubectl.
func (x *bench) byKubectl() time.Duration {
	x.Helper()
	begin := time.Now()
	script := exec.CommandContext(x.Context(), "sh", "-c", `"$0" get webapps.v1.app.example.com -A -o json | "$0" replace -f - >/dev/null`, x.plane.Kubectl())
	script.Env = append(os.Environ(), "KUBECONFIG="+x.plane.Kubeconfig())
	if out, err := script.CombinedOutput(); err != nil {
		x.Fatalf("kubectl: %v: %.500s", err, out)
	}
	return time.Since(begin)
}

// BenchmarkMigration migrates the same objects to and fro.
func BenchmarkMigration(b *testing.B) {
	x := start(b)
	x.create(0, *few)
	x.store("v1")
	small := x.ours(migration.Options{}, true)
	x.check("v1", *few)
	x.store("v1alpha1")
	kubectl := x.byKubectl()
	x.check("v1alpha1", *few)
	x.create(*few, *number)
	x.store("v1")
	large := x.ours(migration.Options{}, true)
	x.check("v1", *number)

	x.store("v1alpha1")
	script := x.sequentially()
	x.check("v1alpha1", *number)
	x.store("v1")
	ours := x.ours(migration.Options{}, false)
	x.check("v1", *number)

	b.Logf("%d objects: engine %s (rewriting alone %s), script %s", *number, ours.all, ours.rewriting, script)
	b.Logf("kubectl get | kubectl replace: %s for %d objects", kubectl, *few)
	b.Logf("live heap of the whole process: %d KiB with %d objects, %d KiB with %d", small.live>>10, *few, large.live>>10, *number)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rate(ours.all), "objects/s")
	b.ReportMetric(rate(ours.rewriting), "rewrites/s")
	b.ReportMetric(rate(script), "script-objects/s")
	b.ReportMetric(kubectl.Seconds()/float64(*few)/(ours.all.Seconds()/float64(*number)), "x-kubectl")
	b.ReportMetric(script.Seconds()/ours.all.Seconds(), "x-script")
	b.ReportMetric(script.Seconds()/ours.rewriting.Seconds(), "x-script-rewriting-alone")
	b.ReportMetric(float64(large.live)/float64(small.live), "x-heap")
	x.compareWithNative(ours)
}

func rate(d time.Duration) float64 { return float64(*number) / d.Seconds() }

// compareWithNative goes back and forth once more with the cluster's own migrator, alone and with the engine around it.
func (x *bench) compareWithNative(ours pace) {
	x.Helper()
	x.store("v1alpha1")
	native, over := x.natively()
	if !over {
		return
	}
	x.check("v1alpha1", *number)
	x.store("v1")
	around := x.ours(migration.Options{Native: true}, false)
	x.check("v1", *number)
	x.Logf("native %s; engine around native %s", native, around.all)
	x.ReportMetric(rate(native), "native-objects/s")
	x.ReportMetric(native.Seconds()/ours.all.Seconds(), "x-native")
	x.ReportMetric(native.Seconds()/ours.rewriting.Seconds(), "x-native-rewriting-alone")
}
