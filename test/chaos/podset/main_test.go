package podset

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/controlplane"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the histories; 0 takes a new one for each run")
	stormFlag = flag.Duration("storm", 8*time.Second, "how long each history lasts before the weather calms down")
	widthFlag = flag.Int("histories", 4, "number of histories at the same time")
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	flag.Parse()
	// Histories mostly wait, so there may be more of them at a time than processors.
	if err := flag.Set("test.parallel", fmt.Sprint(*widthFlag)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(controlplane.Main(m, controlplane.Options{}))
}

var installed struct {
	once sync.Once
	err  error
}

// plane is a control plane with the kind PodSet, which does not convert, so that the tests need no webhook.
func plane(t *testing.T) *controlplane.Plane {
	t.Helper()
	p := controlplane.Attach(t)
	installed.once.Do(func() { installed.err = install(t.Context(), p) })
	if installed.err != nil {
		t.Fatalf("installing the kind: %v", installed.err)
	}
	return p
}

func install(ctx context.Context, p *controlplane.Plane) error {
	root, err := controlplane.FindRoot()
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join(root, "config", "crd", "bases", "batch.example.com_podsets.yaml"))
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		return err
	}
	crd.Spec.Conversion = nil
	c, err := client.New(p.RESTConfig(), client.Options{Scheme: testScheme()})
	if err != nil {
		return err
	}
	if err := c.Create(ctx, crd); err != nil {
		return err
	}
	for err := c.List(ctx, &batchv1.PodSetList{}); err != nil; err = c.List(ctx, &batchv1.PodSetList{}) {
		if ctx.Err() != nil {
			return fmt.Errorf("waiting until the kind is served: %w", err)
		}
	}
	// Garbage collection looks for new kinds only twice a minute; a new process knows them at once.
	return p.Restart(ctx, controlplane.ControllerManager)
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	return scheme
}

func keyOf(pod *corev1.Pod) string { return pod.Name + "/" + string(pod.UID) }
