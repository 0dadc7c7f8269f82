package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	tracerName = "github.com/example/workload-operator"
	// flushTimeout bounds the delivery of the last spans when the process ends.
	flushTimeout = 5 * time.Second
)

// propagators read and write the headers traceparent, tracestate and baggage, as the API server does.
var propagators = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})

// tracing sends spans of webhook calls, of reconciles and of the requests that they send. Nil, as it is unless the environment
// asks for it, it does nothing, and wraps nothing.
type tracing struct {
	provider *sdktrace.TracerProvider
}

// startTracing reads the standard environment variables of OpenTelemetry. Those that are not named here are read by the SDK:
// sampler, headers, certificates, timeouts, limits, service name and resource attributes.
func startTracing(ctx context.Context, getenv func(string) string) (*tracing, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if value := getenv(name); value != "" {
				return value
			}
		}
		return ""
	}
	endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	if endpoint == "" || strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://") {
		return nil, fmt.Errorf("the endpoint for traces %q is no URL: write http://HOST:4317, or https://HOST:4317 with TLS", endpoint)
	}
	if protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"); protocol != "" && protocol != "grpc" {
		return nil, fmt.Errorf("traces are sent by the protocol grpc only, not %s: leave OTEL_EXPORTER_OTLP_PROTOCOL unset", protocol)
	}
	logger := log.FromContext(ctx)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Error(err, "Tracing failed") }))
	// The connection is made when there is something to send, and again whenever it breaks.
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("preparing to send traces to %s: %w", endpoint, err)
	}
	// The environment comes last, and so wins.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", "workload-operator"), attribute.String("service.version", version())),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing this process for traces: %w", err)
	}
	logger.Info("Sending traces", "endpoint", endpoint)
	return &tracing{provider: sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))}, nil
}

// stop delivers what is left.
func (t *tracing) stop(ctx context.Context) {
	if t == nil {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(bounded); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		log.FromContext(ctx).Error(err, "Last traces not sent")
	}
}

func (t *tracing) options() []otelhttp.Option {
	return []otelhttp.Option{otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(propagators)}
}

// webhook makes each call a span, below that of the API server if the call says which that is.
func (t *tracing) webhook(path string, next http.Handler) http.Handler {
	if t == nil {
		return next
	}
	return otelhttp.NewHandler(next, path, t.options()...)
}

// transport makes each request to the API server a span and tells the API server about it. Requests that belong to nothing that is
// traced, such as watches and the renewal of the Lease, are left alone.
func (t *tracing) transport(next http.RoundTripper) http.RoundTripper {
	traced := func(r *http.Request) bool { return trace.SpanContextFromContext(r.Context()).IsValid() }
	return otelhttp.NewTransport(next, append(t.options(), otelhttp.WithFilter(traced))...)
}

// reconciler makes each pass of a controller a span.
func (t *tracing) reconciler(name string, next reconcile.Reconciler) reconcile.Reconciler {
	tracer := t.provider.Tracer(tracerName)
	return reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
		ctx, span := tracer.Start(ctx, "Reconcile "+name, trace.WithAttributes(
			attribute.String("k8s.namespace.name", request.Namespace),
			attribute.String("k8s.object.name", request.Name),
			attribute.String("controller.reconcile_id", string(controller.ReconcileIDFromContext(ctx))),
		))
		defer span.End()
		result, err := next.Reconcile(ctx, request)
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, "the pass failed")
		}
		return result, err
	})
}
