package webapp

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	"github.com/example/workload-operator/test/bench/internal/measure"
	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

var (
	webApps   = flag.Int("webapps", 300, "WebApps, and pairs of the plain client, in each round")
	rounds    = flag.Int("rounds", 3, "rounds; each measures both, in turn")
	footprint = flag.Int("footprint", 1000, "WebApps around which the operator's processor time and memory are measured")
	idle      = flag.Duration("idle", defaultIdle, "how long the settled operator is watched")
	qps       = flag.Float64("qps", 200, "requests per second, for the operator and for the plain client")
	burst     = flag.Int("burst", 400, "requests at once, for the operator and for the plain client")
	workers   = flag.Int("workers", 4, "objects that are worked on at the same time, by the operator and by the plain client")
)

// bench is a control plane of its own with the operator on it, so that no benchmark carries the remains of another.
type bench struct {
	*testing.B
	plane    *controlplane.Plane
	operator *operator.Operator
	// limited has the same limits as the operator; free has none, and only looks.
	limited, free client.WithWatch
}

func start(b *testing.B) *bench {
	b.Helper()
	log.SetLogger(logr.Discard())
	plane, err := controlplane.Start(b.Context(), controlplane.Options{Nodes: 12, Log: os.Stderr})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			b.Errorf("stopping the plane: %v", err)
		}
	})
	x := &bench{B: b, plane: plane}
	x.startOperator()
	config := plane.RESTConfig()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	x.free = x.newClient(config)
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = float32(*qps), *burst
	x.limited = x.newClient(config)
	return x
}

func (b *bench) newClient(config *rest.Config) client.WithWatch {
	b.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), appv1.AddToScheme(scheme)); err != nil {
		b.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func (b *bench) startOperator() {
	b.Helper()
	o, err := operator.New(operator.Options{Args: []string{
		"--metrics-secure=false",
		fmt.Sprintf("--kube-api-qps=%g", *qps), fmt.Sprintf("--kube-api-burst=%d", *burst), fmt.Sprintf("--concurrency=%d", *workers),
	}})
	if err != nil {
		b.Fatal(err)
	}
	b.operator = o
	b.Cleanup(func() {
		if err := o.Stop(); err != nil {
			b.Errorf("stopping the operator: %v", err)
		}
	})
	if err := o.On(b.Context(), b.plane); err != nil {
		b.Fatal(err)
	}
	if err := o.Install(b.Context()); err != nil {
		b.Fatal(err)
	}
	if err := o.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// metric returns the sum of the operator's series that begin so.
func (b *bench) metric(prefix string) float64 {
	b.Helper()
	samples, err := measure.Scrape(b.Context(), strings.Replace(b.operator.MetricsURL(), "https:", "http:", 1))
	if err != nil {
		b.Fatal(err)
	}
	sum, err := samples.Sum(prefix)
	if err != nil {
		b.Fatalf("the operator: %v", err)
	}
	return sum
}
