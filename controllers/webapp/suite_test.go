package webapp

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// operatorAgent is the user agent under which the reconciler of the suite shows in the audit log.
const operatorAgent = "webapp-controller-test"

// suite is one control plane with the reconciler running against it, shared by the tests that need it.
type suite struct {
	plane  *controlplane.Plane
	client client.Client
	scheme *runtime.Scheme
	errors errorLog
	stop   func() error
}

// errorLog keeps what the reconciler logs as an error.
type errorLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *errorLog) add(line string) {
	if !strings.Contains(line, `"error":`) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

// about returns the lines that name a namespace.
func (l *errorLog) about(namespace string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, line := range l.lines {
		if strings.Contains(line, namespace) {
			out = append(out, line)
		}
	}
	return out
}

var (
	startOnce sync.Once
	shared    *suite
	startErr  error
)

func TestMain(m *testing.M) {
	code := m.Run()
	if shared != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// onPlane returns the shared suite, started by the first test that asks for it.
func onPlane(t *testing.T) *suite {
	t.Helper()
	startOnce.Do(func() { shared, startErr = startSuite() })
	if startErr != nil {
		t.Fatal(startErr)
	}
	return shared
}

func startSuite() (*suite, error) {
	ctrl.SetLogger(logr.Discard())
	ctx, cancel := context.WithCancel(context.Background())
	plane, err := controlplane.Start(ctx, controlplane.Options{Log: os.Stderr})
	if err != nil {
		cancel()
		return nil, err
	}
	s := &suite{plane: plane, scheme: runtime.NewScheme()}
	s.stop = func() error { cancel(); return plane.Stop() }
	if err := s.install(ctx); err != nil {
		return nil, fmt.Errorf("installing the definition: %w", err)
	}
	done, err := s.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("running the reconciler: %w", err)
	}
	s.stop = func() error {
		cancel()
		if err := <-done; err != nil {
			return err
		}
		return plane.Stop()
	}
	return s, nil
}

// install registers the definition of WebApp with version v1 alone, which needs no conversion.
func (s *suite) install(ctx context.Context) error {
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(s.scheme); err != nil {
			return err
		}
	}
	var err error
	if s.client, err = client.New(s.plane.RESTConfig(), client.Options{Scheme: s.scheme}); err != nil {
		return err
	}
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "app.example.com_webapps.yaml"))
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, crd); err != nil {
		return err
	}
	crd.Spec.Conversion = nil
	for _, version := range crd.Spec.Versions {
		if version.Name == "v1" {
			version.Storage = true
			crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
			break
		}
	}
	return s.client.Create(ctx, crd)
}

// run starts a manager as cmd/manager does.
func (s *suite) run(ctx context.Context) (<-chan error, error) {
	if err := s.awaitDefinition(ctx); err != nil {
		return nil, err
	}
	config := s.plane.RESTConfig()
	config.UserAgent = operatorAgent
	everywhereElse := cache.Config{FieldSelector: fields.OneTermNotEqualSelector("metadata.namespace", latePlace)}
	return s.manage(ctx, config, map[string]cache.Config{cache.AllNamespaces: everywhereElse})
}

// manage runs a manager that sees some namespaces only.
func (s *suite) manage(ctx context.Context, config *rest.Config, namespaces map[string]cache.Config) (<-chan error, error) {
	byObject := CacheByObject()
	byObject[&corev1.Pod{}] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{workloadv1.LabelManagedBy: workloadv1.ManagedBy})}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:     s.scheme,
		Cache:      cache.Options{ByObject: byObject, DefaultNamespaces: namespaces},
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
		Metrics:    server.Options{BindAddress: "0"},
		Logger:     funcr.NewJSON(s.errors.add, funcr.Options{}),
	})
	if err != nil {
		return nil, err
	}
	if err := Setup(mgr, Options{MaxConcurrentReconciles: 4}); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	return done, nil
}

func (s *suite) awaitDefinition(ctx context.Context) error {
	var failure error
	g := NewGomega(func(message string, _ ...int) { failure = fmt.Errorf("%s", message) })
	g.Eventually(func() error { return s.client.List(ctx, &appv1.WebAppList{}) }, 30*time.Second, 100*time.Millisecond).Should(Succeed())
	return failure
}

// place is a namespace for one test, with everything the test does there.
type place struct {
	*suite
	*WithT
	t         *testing.T
	ctx       context.Context
	namespace string
}

// newPlace makes a namespace that is removed after the test. Tests in places run in parallel.
func newPlace(t *testing.T) *place {
	t.Helper()
	return placeIn(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "webapp-"}})
}

func placeIn(t *testing.T, namespace *corev1.Namespace) *place {
	t.Helper()
	s := onPlane(t)
	t.Parallel()
	p := &place{suite: s, WithT: NewWithT(t), t: t, ctx: t.Context()}
	p.SetDefaultEventuallyTimeout(30 * time.Second)
	p.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	p.Expect(s.client.Create(p.ctx, namespace)).To(Succeed())
	p.namespace = namespace.Name
	t.Cleanup(func() {
		if err := s.client.Delete(context.Background(), namespace); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
		for _, line := range s.errors.about(p.namespace) {
			t.Errorf("the reconciler logged an error: %s", line)
		}
	})
	return p
}

// sample is the WebApp of the documentation.
func sample(mutate ...func(*appv1.WebApp)) *appv1.WebApp {
	w := &appv1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: "my-app"}}
	w.Spec.Image = "nginx:1.25"
	w.Spec.Replicas = new(int32(3))
	w.Spec.Port = 80
	for _, m := range mutate {
		m(w)
	}
	return w
}

// create creates an object in the place.
func (p *place) create(object client.Object) {
	p.t.Helper()
	object.SetNamespace(p.namespace)
	p.Expect(p.client.Create(p.ctx, object)).To(Succeed())
}

// fetch reads an object of the place; it stays empty if there is none.
func fetch[O any, P interface {
	*O
	client.Object
}](p *place, name string) P {
	p.t.Helper()
	object := P(new(O))
	p.Expect(client.IgnoreNotFound(p.client.Get(p.ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, object))).To(Succeed())
	return object
}

// edit changes an object in the place, as a user would who reads it first.
func edit[O any, P interface {
	*O
	client.Object
}](p *place, name string, mutate func(P)) {
	p.t.Helper()
	p.Eventually(func() error {
		object := P(new(O))
		if err := p.client.Get(p.ctx, client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
			return err
		}
		mutate(object)
		return p.client.Update(p.ctx, object, client.FieldOwner("a-user"))
	}).Should(Succeed())
}

// webApp reads the WebApp of the place.
func (p *place) webApp() *appv1.WebApp {
	p.t.Helper()
	return fetch[appv1.WebApp](p, "my-app")
}

// becomes waits until the WebApp is as want says, for its present generation.
func (p *place) becomes(want func(Gomega, *appv1.WebApp)) {
	p.t.Helper()
	p.Eventually(func(g Gomega) {
		w := &appv1.WebApp{}
		g.Expect(p.client.Get(p.ctx, client.ObjectKey{Namespace: p.namespace, Name: "my-app"}, w)).To(Succeed())
		g.Expect(w.Status.ObservedGeneration).To(Equal(w.Generation))
		want(g, w)
	}).Should(Succeed())
}

// runs waits until the WebApp is Running for its present generation.
func (p *place) runs() {
	p.t.Helper()
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseRunning), "%+v", w.Status.Conditions)
		g.Expect(condition(w, workloadv1.ConditionReady).Status).To(Equal(metav1.ConditionTrue))
	})
}

func condition(w *appv1.WebApp, kind string) metav1.Condition {
	for _, c := range w.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// sent says whether the reconciler sent the request, to this place. Events are counted apart.
func (p *place) sent(r *controlplane.Request) bool {
	return r.UserAgent == operatorAgent && r.Namespace == p.namespace && r.Resource != "events"
}

// requests returns what the reconciler asked of the API server in this place since offset, watches and reads of the
// cache aside.
func (p *place) requests(offset int64) []string {
	p.t.Helper()
	var out []string
	_, err := p.plane.AuditLog.Read(offset, func(r *controlplane.Request) {
		if p.sent(r) {
			out = append(out, fmt.Sprintf("%s %s %s %d", r.Verb, path.Join(r.Resource, r.Subresource), r.Name, r.Code))
		}
	})
	p.Expect(err).NotTo(HaveOccurred())
	return out
}

// now is the present end of the audit log.
func (p *place) now() int64 {
	p.t.Helper()
	end, err := p.plane.AuditLog.End()
	p.Expect(err).NotTo(HaveOccurred())
	return end
}
