package admission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/workload-operator/conversion"
)

// object is a WebApp of usual size. %s is its name.
const object = `{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": {"name": "%s", "namespace": "default"},
	"spec": {"image": "registry.example.com/web:1.25", "replicas": 2, "port": 80, "targetPort": 8080,
	"env": [{"name": "Z", "value": "1"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "A", "value": "2"}],
	"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
	"probes": {"readiness": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10}},
	"volumes": [{"name": "data", "emptyDir": {}}], "volumeMounts": [{"name": "data", "mountPath": "/data"}],
	"ingress": {"host": "web.example.com"}, "terminationGracePeriodSeconds": 5}}`

var clientCounts = []int{1, 16}

// latencies are how long operations took.
type latencies struct{ p50, p99 time.Duration }

// measure runs b.N operations from several clients at once. A client's operations follow each other.
func measure(b *testing.B, clients int, operation func(client, i int) error) latencies {
	b.Helper()
	took := make([]time.Duration, b.N)
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for client := range clients {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < b.N; i = int(next.Add(1)) - 1 {
				started := time.Now()
				if err := operation(client, i); err != nil {
					b.Error(err)
					return
				}
				took[i] = time.Since(started)
			}
		})
	}
	group.Wait()
	b.StopTimer()
	slices.Sort(took)
	l := latencies{p50: took[len(took)/2], p99: took[len(took)*99/100]}
	b.ReportMetric(float64(l.p50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(l.p99.Microseconds()), "p99-µs")
	return l
}

// BenchmarkWebhook is a call of a webhook as the API server makes it, over HTTPS: an update that changes replicas.
func BenchmarkWebhook(b *testing.B) {
	c := connect(b)
	old := fmt.Sprintf(object, "web")
	fresh := string(bytes.Replace([]byte(old), []byte(`"replicas": 2`), []byte(`"replicas": 3`), 1))
	for _, version := range []string{"v1", "v1alpha1"} {
		review, err := json.Marshal(admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{
			UID: "u", Operation: admissionv1.Update,
			Kind:        metav1.GroupVersionKind{Group: "app.example.com", Version: "v1", Kind: "WebApp"},
			RequestKind: &metav1.GroupVersionKind{Group: "app.example.com", Version: version, Kind: "WebApp"},
			Object:      runtime.RawExtension{Raw: []byte(fresh)}, OldObject: runtime.RawExtension{Raw: []byte(old)},
		}})
		if err != nil {
			b.Fatal(err)
		}
		for _, duty := range []string{"mutate", "validate"} {
			for _, clients := range clientCounts {
				b.Run(fmt.Sprintf("%s/%s/clients=%d", duty, version, clients), func(b *testing.B) {
					measure(b, clients, func(int, int) error { return c.call("/"+duty+"-app-example-com-v1-webapp", review) })
				})
			}
		}
	}
}

// call posts a review and wants an answer.
func (c *cluster) call(path string, review []byte) error {
	response, err := c.server.Client().Post(c.server.URL+path, "application/json", bytes.NewReader(review))
	if err != nil {
		return err
	}
	answer := admissionv1.AdmissionReview{}
	err = json.NewDecoder(response.Body).Decode(&answer)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err == nil && (response.StatusCode != http.StatusOK || !answer.Response.Allowed) {
		err = fmt.Errorf("%s: %+v", response.Status, answer.Response)
	}
	return err
}

// BenchmarkEndToEnd is a write through the API server. Each is measured without our webhooks first, which is the peer.
func BenchmarkEndToEnd(b *testing.B) {
	c := connect(b)
	peers := map[string]latencies{}
	for _, webhooks := range []bool{false, true} {
		if err := c.setWebhooks(b.Context(), webhooks); err != nil {
			b.Fatal(err)
		}
		for _, version := range []string{"v1", "v1alpha1"} {
			for _, verb := range []string{"create", "update"} {
				for _, clients := range clientCounts {
					name := fmt.Sprintf("%s/%s/clients=%d", verb, version, clients)
					b.Run(fmt.Sprintf("webhooks=%t/%s", webhooks, name), func(b *testing.B) {
						got := c.write(b, verb, version, clients)
						if !webhooks {
							peers[name] = got // of the longest run, which is the last
						} else if peer, ok := peers[name]; ok {
							b.ReportMetric(float64(got.p50)/float64(peer.p50), "p50-ratio")
							b.ReportMetric(float64(got.p99)/float64(peer.p99), "p99-ratio")
						}
					})
				}
			}
		}
	}
}

var runs atomic.Int64

// write creates b.N objects, or changes replicas b.N times, each client those of its own object.
func (c *cluster) write(b *testing.B, verb, version string, clients int) latencies {
	b.Helper()
	run := runs.Add(1)
	resource := c.client.Resource(webApps.WithVersion(version)).Namespace("default")
	create := func(name string) error {
		view, err := conversion.Convert(fmt.Appendf(nil, object, name), "app.example.com/"+version)
		if err != nil {
			return err
		}
		manifest := &unstructured.Unstructured{}
		if err := manifest.UnmarshalJSON(view.Object); err != nil {
			return err
		}
		_, err = resource.Create(b.Context(), manifest, metav1.CreateOptions{})
		return err
	}
	defer func() {
		if err := resource.DeleteCollection(b.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			b.Error(err)
		}
	}()
	if verb == "create" {
		return measure(b, clients, func(_, i int) error { return create(fmt.Sprintf("web-%d-%d", run, i)) })
	}
	patch := map[string]string{"v1": `{"spec": {"replicas": %d}}`, "v1alpha1": `{"spec": {"scale": {"instances": %d}}}`}[version]
	for client := range clients {
		if err := create(fmt.Sprintf("web-%d-%d", run, client)); err != nil {
			b.Fatal(err)
		}
	}
	return measure(b, clients, func(client, i int) error {
		_, err := resource.Patch(b.Context(), fmt.Sprintf("web-%d-%d", run, client), types.MergePatchType, fmt.Appendf(nil, patch, 1+i%9), metav1.PatchOptions{})
		return err
	})
}
