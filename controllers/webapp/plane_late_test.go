package webapp

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// latePlace is the namespace that the manager of the suite does not see.
const latePlace = "webapp-late"

// lateBy is how long each part of a watch of Deployments is on its way to the late manager.
const lateBy = 500 * time.Millisecond

// TestLateCache is W-13 with a cache that shows the new Deployment long after it was written: the old one, which is
// complete, must not be taken for it. The client's read-your-writes consistency is what holds this.
func TestLateCache(t *testing.T) {
	p := placeIn(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: latePlace}})
	config := p.plane.RESTConfig()
	config.UserAgent = operatorAgent
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return lateDeployments{next} })
	done, err := p.manage(p.ctx, config, map[string]cache.Config{latePlace: {}})
	p.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	p.create(sample())
	p.runs()
	p.settles()

	start := p.now()
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "registry.invalid/web:2" })
	generation := p.webApp().Generation
	p.Eventually(func(g Gomega) {
		w := p.webApp()
		if w.Status.ObservedGeneration == generation && w.Status.Phase == appv1.PhaseRunning {
			StopTrying("Running for a generation that cannot run").Now()
		}
		g.Expect(w.Status.ObservedGeneration).To(Equal(generation))
		g.Expect(condition(w, "Ready").Reason).To(Equal("ImagePullBackOff"))
	}).Should(Succeed())
	p.Expect(writes(p.requests(start), "deployments")).To(HaveLen(1), "what has been written is not written again")
}

// lateDeployments delays what watches of Deployments tell.
type lateDeployments struct{ next http.RoundTripper }

func (l lateDeployments) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(request)
	if err == nil && strings.HasSuffix(request.URL.Path, "/deployments") && request.URL.Query().Has("watch") {
		response.Body = lateBody{response.Body, request}
	}
	return response, err
}

type lateBody struct {
	io.ReadCloser
	request *http.Request
}

func (b lateBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	timer := time.NewTimer(lateBy)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-b.request.Context().Done():
	}
	return n, err
}
