package podset

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

var asStated = flag.Bool("podset-as-stated", false, "play the cases with the times and sizes that they state; takes about 11 minutes and needs -timeout")

// short is what a run by default can afford instead of what a case states.
func short[T any](affordable, stated T) T {
	if *asStated {
		return stated
	}
	return affordable
}

// The plane of this package is its own: its CRD does not convert, so that the tests need no webhook.
var suite struct {
	once  sync.Once
	plane *controlplane.Plane
	err   error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	code := m.Run()
	if suite.plane != nil {
		if err := suite.plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the plane:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

func testScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(apiextensionsv1.AddToScheme(scheme))
	utilruntime.Must(batchv1.AddToScheme(scheme))
	return scheme
}

func plane(t *testing.T) *controlplane.Plane {
	t.Helper()
	suite.once.Do(func() {
		suite.plane, suite.err = controlplane.Start(t.Context(), controlplane.Options{Log: os.Stderr})
		if suite.err == nil {
			suite.err = installCRD(t.Context(), suite.plane.RESTConfig())
		}
	})
	if suite.err != nil {
		t.Fatalf("starting the control plane: %v", suite.err)
	}
	return suite.plane
}

func installCRD(ctx context.Context, config *rest.Config) error {
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "crd", "bases", "batch.example.com_podsets.yaml"))
	if err != nil {
		return err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(raw, crd); err != nil {
		return err
	}
	crd.Spec.Conversion = nil
	c, err := client.New(config, client.Options{Scheme: testScheme()})
	if err != nil {
		return err
	}
	if err := c.Create(ctx, crd); err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := c.List(ctx, &batchv1.PodSetList{}); err == nil {
			return nil
		}
	}
	return ctx.Err()
}

// world is a namespace with a manager that sees nothing else.
type world struct {
	*WithT
	t        *testing.T
	client   client.Client
	ns       string
	requests *atomic.Int64 // that the manager sent, watches and events aside
	answers  *answers
	stop     context.CancelFunc
	stopped  chan struct{}
}

// option changes how the manager of a world talks to the API server.
type option func(*rest.Config)

func through(wrap func(http.RoundTripper) http.RoundTripper) option {
	return func(config *rest.Config) { config.Wrap(wrap) }
}

var worlds atomic.Int32

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	t.Parallel()
	p := plane(t)
	w := &world{WithT: NewWithT(t), t: t, ns: fmt.Sprintf("podset-%d", worlds.Add(1)), requests: &atomic.Int64{}, answers: &answers{}}
	w.SetDefaultEventuallyTimeout(30 * time.Second)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	c, err := client.New(p.RESTConfig(), client.Options{Scheme: testScheme()})
	w.Expect(err).NotTo(HaveOccurred())
	w.client = c
	w.Expect(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
	w.Eventually(func() error { // without it no Pod can be created
		return c.Get(t.Context(), client.ObjectKey{Namespace: w.ns, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
	w.start(options...)
	t.Cleanup(func() {
		w.halt()
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
		if err := c.Delete(context.WithoutCancel(t.Context()), ns); err != nil && !apierrors.IsNotFound(err) {
			t.Errorf("deleting the namespace: %v", err)
		}
	})
	return w
}

// start runs a manager. It ends with the test, or by halt.
func (w *world) start(options ...option) {
	w.t.Helper()
	restConfig := suite.plane.RESTConfig()
	for _, apply := range options {
		apply(restConfig)
	}
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.URL.Query().Get("watch") == "" && !isEvent(request) {
				w.requests.Add(1)
			}
			response, err := next.RoundTrip(request)
			if err == nil {
				w.answers.add(request.Method, filepath.Base(request.URL.Path), response.StatusCode)
			}
			return response, err
		})
	})
	ours := labels.SelectorFromSet(labels.Set{workloadv1.LabelManagedBy: workloadv1.ManagedBy})
	mgr, err := ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:     testScheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.ns: {}},
			ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: ours}},
		},
	})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(Setup(mgr, Options{MaxConcurrentReconciles: 4})).To(Succeed())
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	w.stop, w.stopped = cancel, make(chan struct{})
	go func() {
		defer close(w.stopped)
		if err := mgr.Start(ctx); err != nil {
			w.t.Errorf("running the manager: %v", err)
		}
	}()
	w.Expect(mgr.GetCache().WaitForCacheSync(ctx)).To(BeTrue())
}

// halt ends the manager and waits for it.
func (w *world) halt() {
	w.stop()
	<-w.stopped
}

// answers counts what the API server answered, by method, last part of the path, and code.
type answers struct {
	mu     sync.Mutex
	counts map[string]int
}

func (a *answers) add(method, resource string, code int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.counts == nil {
		a.counts = map[string]int{}
	}
	a.counts[fmt.Sprintf("%s %s %d", method, resource, code)]++
}

// of returns the count of one kind of answer, such as "POST pods 201".
func (a *answers) of(kind string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts[kind]
}

// with returns how many answers were given to a method.
func (a *answers) with(method string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind, count := range a.counts {
		if strings.HasPrefix(kind, method+" ") {
			n += count
		}
	}
	return n
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }

func isEvent(request *http.Request) bool { return filepath.Base(request.URL.Path) == "events" }

// base is a valid PodSet; mutate makes it the one a test needs.
func base(name string, mutate ...func(*batchv1.PodSet)) *batchv1.PodSet {
	podSet := &batchv1.PodSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	podSet.Spec.Image = "nginx:alpine"
	podSet.Spec.Replicas = new(int32(3))
	for _, change := range mutate {
		change(podSet)
	}
	return podSet
}

func replicas(n int32) func(*batchv1.PodSet) {
	return func(p *batchv1.PodSet) { p.Spec.Replicas = &n }
}

func podAnnotation(key, value string) func(*batchv1.PodSet) {
	return func(p *batchv1.PodSet) {
		if p.Spec.PodAnnotations == nil {
			p.Spec.PodAnnotations = map[string]string{}
		}
		p.Spec.PodAnnotations[key] = value
	}
}

func (w *world) create(podSet *batchv1.PodSet) *batchv1.PodSet {
	w.t.Helper()
	podSet.Namespace = w.ns
	w.Expect(w.client.Create(w.t.Context(), podSet)).To(Succeed())
	return podSet
}

// change edits the PodSet as a user would.
func (w *world) change(podSet *batchv1.PodSet, mutate func(*batchv1.PodSet)) {
	w.t.Helper()
	w.Eventually(func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(podSet), podSet); err != nil {
			return err
		}
		mutate(podSet)
		return w.client.Update(w.t.Context(), podSet)
	}).Should(Succeed())
}

// changePod edits a Pod, or its status, as a user, an administrator or a kubelet would.
func (w *world) changePod(pod corev1.Pod, mutate func(*corev1.Pod)) {
	w.t.Helper()
	w.Eventually(func() error {
		if err := w.client.Get(w.t.Context(), client.ObjectKeyFromObject(&pod), &pod); err != nil {
			return err
		}
		mutate(&pod)
		status := pod.Status.DeepCopy()
		if err := w.client.Update(w.t.Context(), &pod); err != nil {
			return err
		}
		if equality.Semantic.DeepEqual(pod.Status, *status) {
			return nil
		}
		pod.Status = *status
		return w.client.Status().Update(w.t.Context(), &pod)
	}).Should(Succeed())
}

// read returns the PodSet as it is now.
func (w *world) read(name string) *batchv1.PodSet {
	w.t.Helper()
	podSet := &batchv1.PodSet{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, podSet)).To(Succeed())
	return podSet
}

// pods lists the Pods of the namespace that keep accepts.
func (w *world) pods(keep func(*corev1.Pod) bool) []corev1.Pod {
	w.t.Helper()
	list := &corev1.PodList{}
	w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.ns))).To(Succeed())
	var kept []corev1.Pod
	for _, pod := range list.Items {
		if keep(&pod) {
			kept = append(kept, pod)
		}
	}
	return kept
}

func everyPod(*corev1.Pod) bool { return true }

// settled waits until the status says that everything is as the spec wants it.
func (w *world) settled(name string) *batchv1.PodSet {
	w.t.Helper()
	return w.reaches(name, "settled", func(p *batchv1.PodSet) bool {
		ready := conditionOf(p, workloadv1.ConditionReady)
		return p.Status.ObservedGeneration == p.Generation && ready.Status == metav1.ConditionTrue
	})
}

// reaches waits until the PodSet satisfies a predicate.
func (w *world) reaches(name, what string, is func(*batchv1.PodSet) bool) *batchv1.PodSet {
	w.t.Helper()
	podSet := &batchv1.PodSet{}
	w.Eventually(func(g Gomega) {
		podSet = &batchv1.PodSet{}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, podSet)).To(Succeed())
		g.Expect(is(podSet)).To(BeTrue(), "%s: %+v", what, podSet.Status)
	}).Should(Succeed())
	return podSet
}

// quiet holds that the manager sends no request for a while.
func (w *world) quiet(period time.Duration) {
	w.t.Helper()
	var before int64
	w.Eventually(func() bool { last := before; before = w.requests.Load(); return last == before }).
		WithPolling(500 * time.Millisecond).Should(BeTrue())
	w.Consistently(w.requests.Load).WithTimeout(period).WithPolling(100 * time.Millisecond).Should(Equal(before))
}

func (w *world) events() []eventsv1.Event {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.ns))).To(Succeed())
	return list.Items
}

func conditionOf(podSet *batchv1.PodSet, kind string) metav1.Condition {
	for _, c := range podSet.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

func uids(pods []corev1.Pod) []string {
	var all []string
	for _, pod := range pods {
		all = append(all, string(pod.UID))
	}
	return all
}
