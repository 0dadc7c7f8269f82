package reliability

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// pool is how many objects are read and updated.
	pool = 60
	// requestTimeout is what kubectl would wait at most.
	requestTimeout = time.Minute
	// workers bound how many requests are open at once, when the machine cannot keep up.
	workers = 40
)

// load sends requests at a constant rate until it is told to stop: creates, reads in the older version, and updates in both.
type load struct {
	namespace string
	clients   map[string]*rest.RESTClient // by version of app.example.com
	cancel    context.CancelFunc
	running   sync.WaitGroup
	begun     time.Time

	// idle are the objects that nobody is updating at the moment. Many writers of one object would make the API server try again
	// and again, which is not what is looked for here.
	idle    chan string
	created atomic.Int64
	// retried counts answers 429 and 5xx that the client library has sent again, as it does for every user.
	retried atomic.Int64

	mu       sync.Mutex
	counts   map[string]int
	failures []string
	took     []time.Duration
}

// request is one kind of request and its share of the load, in percent.
type request struct {
	name  string
	share int
	send  func(*load, context.Context) error
}

// mix has a few changes of the spec only: what follows from them is the work of the controllers, which is not looked for here, and
// keeps a small machine from sending as much as it is asked to.
var mix = []request{
	{"create v1", 1, func(l *load, ctx context.Context) error { return l.create(ctx, "v1", false) }},
	{"create v1 dry-run", 3, func(l *load, ctx context.Context) error { return l.create(ctx, "v1", true) }},
	{"create v1alpha1 dry-run", 3, func(l *load, ctx context.Context) error { return l.create(ctx, "v1alpha1", true) }},
	{"read v1alpha1", 84, func(l *load, ctx context.Context) error {
		return l.clients["v1alpha1"].Get().Namespace(l.namespace).Resource("webapps").Name(member()).Do(ctx).Error()
	}},
	{"list v1alpha1", 1, func(l *load, ctx context.Context) error {
		return l.clients["v1alpha1"].Get().Namespace(l.namespace).Resource("webapps").Do(ctx).Error()
	}},
	{"update spec v1alpha1", 1, func(l *load, ctx context.Context) error {
		return l.patch(ctx, "v1alpha1", fmt.Sprintf(`{"spec":{"expose":{"port":%d}}}`, 1000+rand.IntN(1000)))
	}},
	{"update v1alpha1", 4, func(l *load, ctx context.Context) error { return l.annotate(ctx, "v1alpha1") }},
	{"update v1", 3, func(l *load, ctx context.Context) error { return l.annotate(ctx, "v1") }},
}

func (l *load) annotate(ctx context.Context, version string) error {
	return l.patch(ctx, version, fmt.Sprintf(`{"metadata":{"annotations":{"load":"%d"}}}`, rand.Int64()))
}

// member is the name of an object to read.
func member() string { return fmt.Sprintf("pool-%d", rand.IntN(pool)) }

// startLoad makes the objects and begins.
func startLoad(t *testing.T, s *site) *load {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}}
	if err := s.client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	l := &load{namespace: namespace.Name, clients: map[string]*rest.RESTClient{}, counts: map[string]int{}, idle: make(chan string, pool)}
	for _, version := range []string{"v1", "v1alpha1"} {
		config := s.plane.RESTConfig()
		config.APIPath = "/apis"
		config.GroupVersion = &schema.GroupVersion{Group: "app.example.com", Version: version}
		config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
		config.WarningHandlerWithContext = nil
		config.WarningHandler = rest.NoWarnings{}
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &retryCounter{next, &l.retried} })
		c, err := rest.RESTClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		l.clients[version] = c
	}
	for i := range pool {
		eventually(t, "the pool is made", func() error {
			return client.IgnoreAlreadyExists(l.post(t.Context(), "v1", fmt.Sprintf("pool-%d", i), false))
		})
		l.idle <- fmt.Sprintf("pool-%d", i)
	}
	var ctx context.Context
	ctx, l.cancel = context.WithCancel(context.WithoutCancel(t.Context()))
	l.begun = time.Now()
	l.running.Go(func() { l.run(ctx) })
	t.Cleanup(func() { l.cancel(); l.running.Wait() })
	return l
}

func (l *load) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second / time.Duration(*rate))
	defer ticker.Stop()
	free := make(chan struct{}, workers)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		select {
		case <-ctx.Done():
			return
		case free <- struct{}{}:
		}
		l.running.Go(func() {
			defer func() { <-free }()
			l.send(context.WithoutCancel(ctx), choose(rand.IntN(100)))
		})
	}
}

func choose(percent int) request {
	for _, r := range mix {
		if percent -= r.share; percent < 0 {
			return r
		}
	}
	return mix[0]
}

func (l *load) send(ctx context.Context, r request) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	start := time.Now()
	err := r.send(l, ctx)
	took := time.Since(start)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts[r.name]++
	l.took = append(l.took, took)
	if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("%s at %s after %s: %v", r.name, start.Format(time.StampMilli), took, err))
	}
}

func (l *load) create(ctx context.Context, version string, dryRun bool) error {
	name := fmt.Sprintf("made-%d", l.created.Add(1))
	if err := l.post(ctx, version, name, dryRun); err != nil || dryRun {
		return err
	}
	return l.clients[version].Delete().Namespace(l.namespace).Resource("webapps").Name(name).Do(ctx).Error()
}

func (l *load) post(ctx context.Context, version, name string, dryRun bool) error {
	spec := `{"image":"web:1","replicas":2,"suspend":true,"env":[{"name":"B","value":"2"},{"name":"A","value":"1"}]}`
	if version == "v1alpha1" {
		spec = `{"image":{"repository":"web","tag":"1"},"scale":{"instances":2},"env":{"A":"1"}}`
	}
	body := fmt.Sprintf(`{"apiVersion":"app.example.com/%s","kind":"WebApp","metadata":{"name":%q},"spec":%s}`, version, name, spec)
	r := l.clients[version].Post().Namespace(l.namespace).Resource("webapps").SetHeader("Content-Type", "application/json").Body([]byte(body))
	if dryRun {
		r = r.Param("dryRun", "All")
	}
	return r.Do(ctx).Error()
}

func (l *load) patch(ctx context.Context, version, patch string) error {
	name := <-l.idle
	defer func() { l.idle <- name }()
	return l.clients[version].Patch(types.MergePatchType).Namespace(l.namespace).Resource("webapps").Name(name).Body([]byte(patch)).Do(ctx).Error()
}

// end stops the load, waits for the last answers and reports. The result is the requests that failed.
func (l *load) end(t *testing.T, what string) []string {
	t.Helper()
	lasted := time.Since(l.begun)
	l.cancel()
	l.running.Wait()
	slices.Sort(l.took)
	quantile := func(q float64) time.Duration {
		return l.took[int(q*float64(len(l.took)-1))].Round(time.Millisecond)
	}
	t.Logf("%s: %d requests in %s (%.0f/s), %d failed, %d answers asked to retry; took p50 %s p99 %s max %s; %v", what, len(l.took),
		lasted.Round(time.Second), float64(len(l.took))/lasted.Seconds(), len(l.failures), l.retried.Load(),
		quantile(0.5), quantile(0.99), quantile(1), l.counts)
	return l.failures
}

// first is the beginning of a list of failures.
func first(failures []string) string { return strings.Join(failures[:min(len(failures), 5)], "\n") }

// retryCounter counts what the client library is about to send again.
type retryCounter struct {
	next  http.RoundTripper
	count *atomic.Int64
}

func (r *retryCounter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	if err == nil && response.Header.Get("Retry-After") != "" {
		r.count.Add(1)
	}
	return response, err
}
