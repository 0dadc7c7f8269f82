package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/example/workload-operator/conversion"
)

// hasty are limits that a test can wait for.
func hasty(s *webhookServer) {
	s.limits.header, s.limits.request, s.limits.response, s.limits.idle = time.Second, time.Second, 2*time.Second, time.Second
}

// A client that begins and does not go on is cut off at each stage: before, in and after the handshake, in the headers, in the body.
func TestSlowClientsAreCutOff(t *testing.T) {
	s := startServer(t, "1.3", hasty)
	s.server.Register("/x", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	const head = "POST /x HTTP/1.1\r\nHost: hooks\r\nContent-Type: application/json\r\n"
	for name, said := range map[string]string{
		"NoHandshake":  "",
		"InHandshake":  "\x16\x03\x01\x02\x00\x01",
		"NoRequest":    "tls:",
		"InHeaders":    "tls:" + head,
		"InBody":       "tls:" + head + "Content-Length: 1000\r\n\r\n{",
		"InChunk":      "tls:" + head + "Transfer-Encoding: chunked\r\n\r\nffff\r\n{",
		"KeepingAlive": "tls:" + head + "Content-Length: 2\r\n\r\n{}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			connection, err := net.Dial("tcp", s.server.address())
			if err != nil {
				t.Fatal(err)
			}
			defer connection.Close()
			if plain, ok := strings.CutPrefix(said, "tls:"); ok {
				said = plain
				config := s.client.Transport.(*http.Transport).TLSClientConfig.Clone()
				config.NextProtos = []string{"http/1.1"}
				connection = tls.Client(connection, config)
			}
			if _, err := io.WriteString(connection, said); err != nil {
				t.Fatal(err)
			}
			_ = connection.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.Copy(io.Discard, connection); isTimeout(err) {
				t.Errorf("still connected after 20 seconds")
			}
		})
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// The client has to be the one that ends an idle connection.
func TestIdleConnectionsAreTheClients(t *testing.T) {
	if defaultLimits.idle <= clientIdle {
		t.Errorf("the server ends connections after %s, clients after %s", defaultLimits.idle, clientIdle)
	}
}

// Headers beyond the limit are refused, and the connections of those who hold many do not take the room of others for ever.
func TestLimits(t *testing.T) {
	s := startServer(t, "1.3", hasty, func(s *webhookServer) {
		s.limits.connections = 8
		s.admission = semaphore.NewWeighted(2 * leastWeight)
		s.limits.inFlightBytes = 2 * leastWeight
	})
	entered, release := make(chan struct{}, 2), make(chan struct{})
	s.server.Register("/x", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Wait") != "" {
			entered <- struct{}{}
			<-release
		}
	}))
	ask := func(header, value string) (int, error) {
		request, err := http.NewRequest(http.MethodPost, "https://"+s.server.address()+"/x", strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		request.Header.Set(header, value)
		response, err := s.client.Do(request)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		return response.StatusCode, nil
	}
	if code, err := ask("Big", strings.Repeat("x", 2*maxHeaderBytes)); err == nil && code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("headers of %d bytes: %d", 2*maxHeaderBytes, code)
	}
	answers := make(chan int, 2)
	for range 2 {
		go func() {
			code, _ := ask("Wait", "yes")
			answers <- code
		}()
		<-entered
	}
	if code, err := ask("Wait", "no"); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("a third request: %d %v, want 503", code, err)
	}
	close(release)
	for range 2 {
		if code := <-answers; code != http.StatusOK {
			t.Errorf("one of the first: %d", code)
		}
	}
	s.client.CloseIdleConnections()
	for range 20 {
		connection, err := net.Dial("tcp", s.server.address())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
	}
	g := gomega.NewWithT(t)
	g.Eventually(s.server.open.Load, soon, interval).Should(gomega.BeEquivalentTo(8))
	g.Consistently(s.server.open.Load, 4*interval, interval).Should(gomega.BeNumerically("<=", 8))
	g.Eventually(func() (int, error) { return ask("Quiet", "yes") }, soon, interval).Should(gomega.Equal(http.StatusOK),
		"idle connections keep others out")
}

// Many clients that send slowly, or claim much, hold little memory.
func TestMemoryIsBounded(t *testing.T) {
	s := startServer(t, "1.3", func(s *webhookServer) { s.limits.connections = 300 })
	s.server.Register(conversionPath, conversion.NewHandler(conversion.HandlerOptions{Registerer: prometheus.NewRegistry()}))
	before := heap()
	roots := s.client.Transport.(*http.Transport).TLSClientConfig
	for i := range 300 {
		connection, err := tls.Dial("tcp", s.server.address(), &tls.Config{RootCAs: roots.RootCAs, ServerName: "hooks"})
		if err != nil {
			// Beyond the limit: those that are closed already leave room for more only later.
			continue
		}
		t.Cleanup(func() { _ = connection.Close() })
		fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: hooks\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n{", conversionPath, 1<<(10+i%16))
	}
	grown := int64(heap()) - int64(before)
	t.Logf("%d KiB for 300 clients", grown>>10)
	if grown > 320<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapInuse
}
