package podset

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/workload-operator/controllers"
	"github.com/example/workload-operator/controllers/podset"
)

// life is one life of an operator that sees one namespace.
type life struct {
	storm   *storm
	stop    context.CancelFunc
	stopped chan error
}

func begin(t *testing.T, restConfig *rest.Config, scheme *runtime.Scheme, mapper meta.RESTMapper, namespace string, s *storm) *life {
	t.Helper()
	l := &life{storm: s, stopped: make(chan error, 1)}
	restConfig.Wrap(l.storm.wrap)
	bounds := controllers.CacheOptions()
	bounds.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache:      bounds,
		// Discovery is not what this is about.
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return mapper, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := podset.Setup(mgr, podset.Options{MaxConcurrentReconciles: 2}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l.stop = cancel
	go func() { l.stopped <- mgr.Start(ctx) }()
	return l
}

// kill ends the operator as a crash does: from one moment to the next nothing of it reaches the API server any more.
func (l *life) kill() error {
	l.storm.kill()
	l.stop()
	return <-l.stopped
}
