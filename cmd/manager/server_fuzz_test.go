package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// serverOnly is a manager of which only the webhook server is used.
type serverOnly struct {
	ctrl.Manager
	server webhook.Server
}

func (s serverOnly) GetWebhookServer() webhook.Server { return s.server }

// FuzzServe sends what no API server would send, at every layer: bytes instead of a handshake, bytes instead of HTTP, headers and
// bodies to every webhook. The server answers or hangs up; it neither panics nor stops answering others.
func FuzzServe(f *testing.F) {
	log.SetLogger(logr.Discard())
	s := startServer(f, "1.3", hasty)
	s.server.Register(conversionPath, conversion.NewHandler(conversion.HandlerOptions{Registerer: prometheus.NewRegistry(), ReadTimeout: time.Second}))
	if err := webhooks.Setup(serverOnly{server: s.server}); err != nil {
		f.Fatal(err)
	}
	paths := []string{"/convert", "/mutate-app-example-com-v1-webapp", "/validate-app-example-com-v1-webapp",
		"/mutate-batch-example-com-v1-podset", "/validate-batch-example-com-v1-podset", "/"}
	config := s.client.Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	h2 := config.Clone()
	h2.NextProtos = []string{"h2"}
	f.Add(uint8(0), []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"))
	f.Add(uint8(0), []byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add(uint8(1), []byte("POST /convert HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 999999999999\r\n\r\n{"))
	f.Add(uint8(1), []byte("POST /convert HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n"))
	f.Add(uint8(1), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	f.Add(uint8(2), []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\x04\x08\x00\x00\x00\x00\xff\xff\xff\xff"))
	for i := range paths {
		f.Add(uint8(3+i), []byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"1","operation":"UPDATE","object":{"spec":1}}}`))
		f.Add(uint8(3+i), []byte(`{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"1","desiredAPIVersion":"app.example.com/v1","objects":[{}]}}`))
	}
	f.Fuzz(func(t *testing.T, layer uint8, data []byte) {
		switch layer %= uint8(3 + len(paths)); layer {
		case 0, 1, 2:
			sendRaw(t, s, []*tls.Config{nil, config, h2}[layer], data)
		default:
			response, err := s.client.Post("https://"+s.server.address()+paths[layer-3], "application/json", bytes.NewReader(data))
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		if strings.Contains(s.said.String(), "panic") {
			t.Fatalf("the server panicked: %s", s.said.String())
		}
		response, err := s.client.Get("https://" + s.server.address() + "/")
		if err != nil {
			t.Fatalf("the server does not answer others any more: %v", err)
		}
		_ = response.Body.Close()
	})
}

// sendRaw sends bytes, over TLS if there is a configuration for it, says that there is no more, and waits until the server hangs up.
func sendRaw(t *testing.T, s *started, config *tls.Config, data []byte) {
	t.Helper()
	raw, err := net.Dial("tcp", s.server.address())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(20 * time.Second))
	connection := raw
	if config != nil {
		connection = tls.Client(raw, config)
	}
	_, _ = connection.Write(data)
	if half, ok := connection.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	if _, err := io.Copy(io.Discard, connection); isTimeout(err) {
		t.Error("the server holds the connection")
	}
}
