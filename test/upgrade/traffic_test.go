package upgrade

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// traffic is a reader and a writer of each kind in one version. They only touch an annotation, so that no controller has work.
//
// A request has failed when the client library returns an error. A 429 with Retry-After, which the API server answers while it
// builds the caches of a changed definition anew, is repeated by the library for any program that uses it; these are counted
// apart. A conflict is no failure, but writers send no resourceVersion, so there is none.
type traffic struct {
	version string
	cancel  context.CancelFunc
	clients sync.WaitGroup

	requests, repeated atomic.Int64
	mu                 sync.Mutex
	failures           map[string]int
}

// begin starts clients that go on until end.
func (r *road) begin(version string) *traffic {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.whole)
	tr := &traffic{version: version, cancel: cancel, failures: map[string]int{}}
	restConfig := r.plane.RESTConfig()
	restConfig.WarningHandlerWithContext, restConfig.WarningHandler = nil, rest.NoWarnings{}
	restConfig.Wrap(func(next http.RoundTripper) http.RoundTripper { return counter{next, &tr.repeated} })
	d, err := dynamic.NewForConfig(restConfig)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	for _, k := range kinds {
		c := d.Resource(k.in(version)).Namespace(r.namespace)
		name := older + "-0"
		tr.clients.Go(func() { tr.loop(ctx, "list", func(int) error { return ignoring(c.List(ctx, metav1.ListOptions{})) }) })
		tr.clients.Go(func() {
			tr.loop(ctx, "get", func(int) error { return ignoring(c.Get(ctx, name, metav1.GetOptions{})) })
		})
		tr.clients.Go(func() {
			tr.loop(ctx, "patch", func(i int) error {
				patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"beat-%s":"%d"}}}`, version, i)
				return ignoring(c.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "beat-" + version}))
			})
		})
	}
	return tr
}

func ignoring[T any](_ T, err error) error { return err }

func (t *traffic) loop(ctx context.Context, verb string, request func(int) error) {
	ticker := time.NewTicker(*beat)
	defer ticker.Stop()
	for i := 0; ctx.Err() == nil; i++ {
		err := request(i)
		if ctx.Err() != nil {
			return // broken off by us
		}
		t.requests.Add(1)
		if err != nil && !apierrors.IsConflict(err) {
			t.mu.Lock()
			t.failures[verb+": "+err.Error()]++
			t.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// end stops the clients and wants that no request failed.
func (t *traffic) end(r *road, during string) {
	r.t.Helper()
	t.cancel()
	t.clients.Wait()
	t.report(r, during)
}

// report says what happened until now, and wants that no request failed.
func (t *traffic) report(r *road, during string) {
	r.t.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	requests, failed := t.requests.Swap(0), 0
	r.Expect(requests).To(gomega.BeNumerically(">", 0), "%s: nobody asked", during)
	for _, text := range slices.Sorted(maps.Keys(t.failures)) {
		failed += t.failures[text]
		r.t.Errorf("%s: %d times in %s: %s", during, t.failures[text], t.version, text)
	}
	r.t.Logf("%s: %s: %d requests, %d failed; %d answers were 429 and repeated", during, t.version, requests, failed, t.repeated.Swap(0))
	clear(t.failures)
}

// counter counts the answers that the client library repeats.
type counter struct {
	next     http.RoundTripper
	repeated *atomic.Int64
}

func (c counter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := c.next.RoundTrip(request)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		c.repeated.Add(1)
	}
	return response, err
}
