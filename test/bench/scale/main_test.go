package scale

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	machinery "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/bench/internal/measure"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

var (
	sizes    = flag.String("sizes", "250,500", "numbers of WebApps at which everything is measured, from small to large")
	ratio    = flag.Int("ratio", 2, "Pods for each WebApp, its own included; PodSets make the others")
	replicas = flag.Int("replicas", 1, "Pods that each WebApp has; 0 suspends it, which is cheaper and leaves all Pods to PodSets")
	idle     = flag.Duration("idle", 15*time.Second, "how long the settled operator is watched at each size")
	updates  = flag.Int("updates", 100, "changes of a label for each number of watchers, each version and each turn")
	storage  = flag.String("storage", "v1", "version that WebApps are stored in")
	args     = flag.String("manager-args", "", "further arguments of the manager, separated by spaces")
)

// perSet is how many replicas a PodSet has at most, and perNamespace how many WebApps are in a namespace.
const (
	perSet       = 1000
	perNamespace = 500
)

// rig is a control plane of its own with the operator on it.
type rig struct {
	*testing.B
	ctx      context.Context
	plane    *controlplane.Plane
	operator *operator.Operator
	metrics  string // address
	client   client.Client
	raw      *rest.RESTClient // reads without decoding
	calls    *tally

	webApps, setPods int // that exist; those of WebApps are not among setPods
	points           []point
	starts           []point
}

func (r *rig) pods() int { return r.setPods + r.webApps**replicas }

func start(b *testing.B) *rig {
	b.Helper()
	log.SetLogger(logr.Discard())
	// The API server is to be the limit. Events need much of the space in etcd.
	fast := []string{"--kube-api-qps=1000", "--kube-api-burst=2000"}
	plane, err := controlplane.Start(b.Context(), controlplane.Options{Nodes: 12, Log: os.Stderr, ExtraArgs: map[controlplane.Part][]string{
		controlplane.ControllerManager: fast, controlplane.Scheduler: fast, controlplane.Etcd: {"--quota-backend-bytes=8589934592"},
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			b.Errorf("stopping the plane: %v", err)
		}
	})
	r := &rig{B: b, ctx: b.Context(), plane: plane, calls: &tally{log: plane.AuditLog}}
	r.connect()
	r.startOperator()
	if *storage != "v1" {
		r.store(*storage)
	}
	return r
}

func (r *rig) connect() {
	r.Helper()
	config := r.plane.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	scheme := machinery.NewScheme()
	r.check(errors.Join(clientgoscheme.AddToScheme(scheme), appv1.AddToScheme(scheme), batchv1.AddToScheme(scheme)))
	var err error
	r.client, err = client.New(config, client.Options{Scheme: scheme})
	r.check(err)
	// Not compressed: bytes are those of the objects, and times are not those of gzip.
	config.DisableCompression = true
	config.NegotiatedSerializer = clientgoscheme.Codecs.WithoutConversion()
	r.raw, err = rest.UnversionedRESTClientFor(config)
	r.check(err)
}

// startOperator starts it with the limits that it is shipped with. It holds no Lease, which an overloaded machine may lose.
func (r *rig) startOperator() {
	r.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	r.check(err)
	r.metrics = listener.Addr().String()
	r.check(listener.Close())
	more := append([]string{"--leader-elect=false", "--metrics-bind-address=" + r.metrics, "--metrics-secure=false"}, strings.Fields(*args)...)
	if *storage != "v1" {
		more = append(more, "--auto-migrate=false")
	}
	r.operator, err = operator.New(operator.Options{Args: more})
	r.check(err)
	r.Cleanup(func() {
		if err := r.operator.Stop(); err != nil {
			r.Errorf("stopping the operator: %v", err)
		}
	})
	r.check(r.operator.On(r.ctx, r.plane))
	r.check(r.operator.Install(r.ctx))
	r.check(r.operator.Start(r.ctx))
}

func (r *rig) check(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// say prints a line at once: a long run is to be seen while it lasts, and go test cuts what a benchmark logs.
func (r *rig) say(topic, format string, arguments ...any) {
	fmt.Fprintf(os.Stdout, "%-8s webapps=%d pods=%d: %s\n", topic, r.webApps, r.pods(), fmt.Sprintf(format, arguments...))
}

// scrape reads the operator's metrics.
func (r *rig) scrape() measure.Samples {
	r.Helper()
	samples, err := measure.Scrape(r.ctx, "http://"+r.metrics+"/metrics")
	r.check(err)
	return samples
}

// metric is the sum of the operator's series that begin so.
func (r *rig) metric(prefix string) float64 {
	r.Helper()
	sum, err := r.scrape().Sum(prefix)
	r.check(err)
	return sum
}

func (r *rig) memory(pid int, field string) float64 {
	r.Helper()
	mib, err := measure.MemoryMiB(pid, field)
	r.check(err)
	return mib
}

// processors is the processor time, in seconds, that has been used so far.
type processors struct{ operator, server, all float64 }

// used reads the processor time. That of the operator begins anew when it does.
func (r *rig) used() (p processors) {
	r.Helper()
	seconds := func(pid int) float64 {
		used, err := measure.ProcessorSeconds(pid)
		r.check(err)
		p.all += used
		return used
	}
	p.operator = seconds(r.operator.PID())
	for _, part := range controlplane.AllParts() {
		if used := seconds(r.plane.PID(part)); part == controlplane.APIServer {
			p.server = used
		}
	}
	return p
}

// since is the processor time used since before, divided by n.
func (r *rig) since(before processors, n int) processors {
	r.Helper()
	now, each := r.used(), float64(n)
	return processors{(now.operator - before.operator) / each, (now.server - before.server) / each, (now.all - before.all) / each}
}

// poll asks until done. What thousands of objects need is minutes.
func (r *rig) poll(interval time.Duration, what string, done func() bool) {
	r.Helper()
	patience := 5*time.Minute + time.Duration(r.webApps+r.pods())*100*time.Millisecond
	err := wait.PollUntilContextTimeout(r.ctx, interval, patience, false, func(context.Context) (bool, error) {
		select {
		case <-r.operator.Done():
			return false, r.operator.Ended()
		case err := <-r.plane.Failed():
			return false, err
		default:
			return done(), nil
		}
	})
	if err != nil {
		r.Fatalf("waiting until %s: %v", what, err)
	}
}

// pause lets time pass.
func (r *rig) pause(d time.Duration) {
	r.Helper()
	begin := time.Now()
	r.poll(min(d, time.Second), "time has passed", func() bool { return time.Since(begin) >= d })
}

// numbers reads the flags.
func numbers() ([]int, error) {
	if *replicas < 0 || *ratio < *replicas {
		return nil, fmt.Errorf("-ratio %d is less than -replicas %d", *ratio, *replicas)
	}
	if !slices.Contains(versions, *storage) {
		return nil, fmt.Errorf("-storage %s is not one of %v", *storage, versions)
	}
	var all []int
	for text := range strings.SplitSeq(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(all) > 0 && n <= all[len(all)-1] {
			return nil, fmt.Errorf("-sizes %s: want numbers from small to large", *sizes)
		}
		all = append(all, n)
	}
	return all, nil
}

// setting describes the run in a line.
func setting() string {
	return fmt.Sprintf("%s, %d processors; Pods for each WebApp: %d, of which %d its own, the others of PodSets of up to %d; stored in %s; manager %s",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), *ratio, *replicas, perSet, *storage, strings.TrimSpace("as shipped "+*args))
}
