package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/example/workload-operator/test/controlplane"
)

// collector takes traces as an OpenTelemetry collector would.
type collector struct {
	coltracepb.UnimplementedTraceServiceServer
	endpoint string

	mu    sync.Mutex
	spans []sentSpan
}

// sentSpan is a span with the attributes of the process that sent it.
type sentSpan struct {
	*tracepb.Span
	process map[string]string
}

func attributesOf(pairs []*commonpb.KeyValue) map[string]string {
	values := map[string]string{}
	for _, pair := range pairs {
		values[pair.Key] = pair.Value.GetStringValue()
	}
	return values
}

// collect starts a collector that serves until stop is called.
func collect() (c *collector, stop func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	c = &collector{endpoint: "http://" + listener.Addr().String()}
	server := grpc.NewServer()
	coltracepb.RegisterTraceServiceServer(server, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	return c, func() { server.Stop(); serving.Wait() }, nil
}

// Export is called with spans.
func (c *collector) Export(_ context.Context, request *coltracepb.ExportTraceServiceRequest) (*coltracepb.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans = append(c.spans, sentSpan{span, attributesOf(resource.Resource.Attributes)})
			}
		}
	}
	return &coltracepb.ExportTraceServiceResponse{}, nil
}

func (c *collector) all() []sentSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// planeTraces gets the spans of the API server of the tests' plane.
var planeTraces *collector

// tracedPlane runs the tests with an API server that traces every request.
func tracedPlane(m *testing.M) int {
	var stop func()
	var err error
	if planeTraces, stop, err = collect(); err != nil {
		fmt.Fprintln(os.Stderr, "starting a collector of traces:", err)
		return 1
	}
	defer stop()
	folder, err := os.MkdirTemp("", "traces-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "tracing.yaml")
	content := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: 1000000\n",
		strings.TrimPrefix(planeTraces.endpoint, "http://"))
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return controlplane.Main(m, controlplane.Options{
		Parts:     controlplane.APIOnly(),
		ExtraArgs: map[controlplane.Part][]string{controlplane.APIServer: {"--tracing-config-file=" + file}},
	})
}

// checkJoined: spans of the manager's webhook are below spans of the API server, and spans of the API server below those of passes. An
// API server that somebody else started (see controlplane.EnvKubeconfig) sends its spans elsewhere.
func checkJoined(t *testing.T) {
	t.Helper()
	if os.Getenv(controlplane.EnvKubeconfig) != "" {
		return
	}
	type link struct{ parent, child string }
	links := func() map[link]int {
		spans := planeTraces.all()
		byID := map[string]sentSpan{}
		for _, span := range spans {
			byID[string(span.SpanId)] = span
		}
		found := map[link]int{}
		for _, span := range spans {
			if parent, known := byID[string(span.ParentSpanId)]; known && parent.process["service.name"] != span.process["service.name"] {
				found[link{parent.process["service.name"] + " " + parent.Name, span.process["service.name"] + " " + span.Name}]++
			}
		}
		return found
	}
	gomega.NewWithT(t).Eventually(links, soon, interval).Should(gomega.And(
		gomega.HaveKey(link{"apiserver HTTP POST", "workload-operator POST /convert"}),
		gomega.HaveKey(link{"workload-operator HTTP PATCH", "apiserver PATCH /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}"}),
	))
}

const (
	traceID  = "0af7651916cd43dd8448eb211c80319c"
	parentID = "b7ad6b7169203331"
)

// A call of a webhook is a span below that of the API server, a pass of a controller is one, and the requests of the pass carry it on.
func TestTracing(t *testing.T) {
	c, stop, err := collect()
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.endpoint)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "service.name=ours,k8s.cluster.name=test")
	traces, err := startTracing(log.IntoContext(t.Context(), logr.Discard()), envOf(map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.endpoint}))
	if err != nil {
		t.Fatal(err)
	}

	s := startServer(t, "1.3", func(server *webhookServer) { server.tracing = traces })
	s.server.Register("/convert", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		// The conversion handler bounds the reading of a body this way.
		if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil {
			t.Errorf("deadlines do not work behind the tracing: %v", err)
		}
	}))
	call, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.server.address()+"/convert", nil)
	if err != nil {
		t.Fatal(err)
	}
	call.Header.Set("traceparent", "00-"+traceID+"-"+parentID+"-01")
	response, err := s.client.Do(call)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()

	headers := make(chan string, 2)
	apiServer := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header.Get("traceparent") }))
	defer apiServer.Close()
	client := http.Client{Transport: traces.transport(http.DefaultTransport)}
	get := func(ctx context.Context) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, apiServer.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
	}
	failure := errors.New("no luck")
	pass := traces.reconciler("webapp", reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		get(ctx)
		return reconcile.Result{RequeueAfter: time.Second}, failure
	}))
	result, err := pass.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
	if result.RequeueAfter != time.Second || !errors.Is(err, failure) {
		t.Errorf("the pass ends with %v, %v", result, err)
	}
	get(t.Context())
	sent, alone := <-headers, <-headers

	traces.stop(t.Context())
	spans := map[string]sentSpan{}
	for _, span := range c.all() {
		spans[span.Name] = span
	}
	g := gomega.NewWithT(t)
	g.Expect(c.all()).To(gomega.HaveLen(3), "the request outside of a pass is none")
	webhook, reconciled, request := spans["POST /convert"], spans["Reconcile webapp"], spans["HTTP GET"]
	g.Expect(hex.EncodeToString(webhook.TraceId) + " " + hex.EncodeToString(webhook.ParentSpanId)).To(gomega.Equal(traceID + " " + parentID))
	g.Expect(reconciled.ParentSpanId).To(gomega.BeEmpty())
	g.Expect(reconciled.Status.Code).To(gomega.Equal(tracepb.Status_STATUS_CODE_ERROR))
	g.Expect(request.ParentSpanId).To(gomega.Equal(reconciled.SpanId))
	g.Expect(sent).To(gomega.Equal("00-" + hex.EncodeToString(request.TraceId) + "-" + hex.EncodeToString(request.SpanId) + "-01"))
	g.Expect(alone).To(gomega.BeEmpty())
	g.Expect(attributesOf(reconciled.Attributes)).To(gomega.And(gomega.HaveKeyWithValue("k8s.namespace.name", "shop"), gomega.HaveKeyWithValue("k8s.object.name", "web")))
	g.Expect(reconciled.process).To(gomega.And(gomega.HaveKeyWithValue("service.name", "ours"), gomega.HaveKeyWithValue("service.version", version()),
		gomega.HaveKeyWithValue("k8s.cluster.name", "test")))
}

func envOf(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

// Nothing is wrapped unless an endpoint is given, and what cannot work is refused at once.
func TestTracingIsOptional(t *testing.T) {
	tests := map[string]struct {
		env     map[string]string
		on      bool
		refusal string
	}{
		"nothing":           {},
		"other variables":   {env: map[string]string{"OTEL_TRACES_SAMPLER": "always_on"}},
		"disabled":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}},
		"no exporter":       {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}},
		"endpoint":          {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, on: true},
		"protocol":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, on: true},
		"another protocol":  {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, refusal: "traces are sent by the protocol grpc only, not http/json: leave OTEL_EXPORTER_OTLP_PROTOCOL unset"},
		"no URL":            {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "collector:4317"}, refusal: `the endpoint for traces "collector:4317" is no URL: write http://HOST:4317, or https://HOST:4317 with TLS`},
		"traces before all": {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://127.0.0.1:1"}, on: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for variable, value := range test.env {
				t.Setenv(variable, value)
			}
			traces, err := startTracing(log.IntoContext(t.Context(), logr.Discard()), envOf(test.env))
			defer traces.stop(t.Context())
			refusal := ""
			if err != nil {
				refusal = err.Error()
			}
			if diff := cmp.Diff(test.refusal, refusal); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
			if on := traces != nil; on != test.on {
				t.Errorf("tracing is %t, want %t", on, test.on)
			}
		})
	}
	var off *tracing
	hook := &limitedHandler{}
	if off.webhook("/convert", hook) != http.Handler(hook) {
		t.Error("a webhook is wrapped although nothing is traced")
	}
}
