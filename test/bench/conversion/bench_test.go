package conversion_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/example/workload-operator/conversion"
)

// realistic is a WebApp as a cluster has it: about 3 KB with managedFields and the annotation of kubectl apply, in the order in
// which the API server writes it.
func realistic(version string, i int) []byte {
	spec := `"args":["--listen=:8080","--log-format=json"],"autoscaling":{"maxReplicas":6,"minReplicas":2,"targetCPUUtilizationPercentage":70},` +
		`"env":[{"name":"DATABASE_HOST","value":"db.example.net"},{"name":"DATABASE_PASSWORD","valueFrom":{"secretKeyRef":{"key":"password","name":"db"}}},{"name":"LOG_LEVEL","value":"info"}],` +
		`"image":"registry.example.net/team/web:1.25.3","imagePullPolicy":"IfNotPresent","port":80,` +
		`"probes":{"liveness":{"httpGet":{"path":"/live","port":8080},"periodSeconds":20},"readiness":{"failureThreshold":3,"httpGet":{"path":"/ready","port":8080},"periodSeconds":10}},` +
		`"replicas":3,"resources":{"limits":{"memory":"512Mi"},"requests":{"cpu":"250m","memory":"256Mi"}},` +
		`"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},"targetPort":8080,` +
		`"volumeMounts":[{"mountPath":"/data","name":"data"}],"volumes":[{"emptyDir":{},"name":"data"}]`
	var fields []string
	for _, name := range []string{"args", "autoscaling", "env", "image", "imagePullPolicy", "port", "probes", "replicas", "resources", "strategy", "targetPort", "volumeMounts", "volumes"} {
		fields = append(fields, `"f:`+name+`":{}`)
	}
	name := fmt.Sprintf("web-%d", i)
	applied := fmt.Sprintf(`{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"annotations":{},"name":%q,"namespace":"default"},"spec":{%s}}`+"\n", name, spec)
	hub := fmt.Appendf(nil, `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":%s},`+
		`"creationTimestamp":"2026-01-02T03:04:05Z","generation":4,"labels":{"app.kubernetes.io/name":"web","team":"blue"},`+
		`"managedFields":[{"apiVersion":"app.example.com/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}}},"f:spec":{%s}},"manager":"kubectl-client-side-apply","operation":"Update","time":"2026-01-02T03:04:05Z"}],`+
		`"name":%q,"namespace":"default","resourceVersion":"1234567","uid":"0b6d3c1e-7f5a-4b0c-9a53-2f6f0e4f5d6c"},"spec":{%s},`+
		`"status":{"availableReplicas":3,"conditions":[{"lastTransitionTime":"2026-01-02T03:04:05Z","message":"all replicas are available","observedGeneration":4,"reason":"Ready","status":"True","type":"Ready"}],`+
		`"lastUpdateTime":"2026-01-02T03:04:05Z","observedGeneration":4,"phase":"Running","readyReplicas":3,"replicas":3,"selector":"app.example.com/webapp=web","updatedReplicas":3,"url":"http://web.default.svc"}}`,
		quoted(applied), strings.Join(fields, ","), name, spec)
	if version == "v1" {
		return hub
	}
	result, err := conversion.Convert(hub, "app.example.com/"+version)
	if err != nil {
		panic(err)
	}
	view := result.Object
	var value any
	if err := json.Unmarshal(view, &value); err != nil {
		panic(err)
	}
	if view, err = json.Marshal(value); err != nil { // members in the order of the API server
		panic(err)
	}
	return view
}

func quoted(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return out
}

func otherVersion(version string) string {
	if version == "v1" {
		return "v1alpha1"
	}
	return "v1"
}

func reviewOf(desired string, objects ...[]byte) []byte {
	return fmt.Appendf(nil, `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]}}`,
		desired, bytes.Join(objects, []byte(",")))
}

func realisticReview(from string, n int) []byte {
	objects := make([][]byte, n)
	for i := range objects {
		objects[i] = realistic(from, i)
	}
	return reviewOf("app.example.com/"+otherVersion(from), objects...)
}

// BenchmarkHandler compares the handler with controller-runtime's on the same reviews, and with the floor of reading the bytes.
func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1, 500, 5000} {
		for _, from := range []string{"v1", "v1alpha1"} {
			b.Run(fmt.Sprintf("objects=%d/from=%s", n, from), func(b *testing.B) {
				body := realisticReview(from, n)
				lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
				compare(b, n, []contender{
					{"ours", serving(b, conversion.NewHandler(conversion.HandlerOptions{}), body)},
					{"stock", serving(b, stockHandler(b), body)},
					{"json.Valid", func() { json.Valid(body) }},
					{"jsontext.IsValid", func() { jsontext.Value(body).IsValid(lenient...) }},
					{"harness", serving(b, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }), body)},
				})
			})
		}
	}
}

// serving posts a body to a handler. It allocates nothing itself.
func serving(b *testing.B, h http.Handler, body []byte) func() {
	reader := bytes.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/convert", io.NopCloser(reader))
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = int64(len(body))
	w := &sink{header: http.Header{}}
	return func() {
		reader.Reset(body)
		clear(w.header)
		w.status, w.bytes = http.StatusOK, 0
		h.ServeHTTP(w, req)
		if w.status != http.StatusOK || w.bytes < len(body)/4 {
			b.Fatalf("status %d, %d bytes", w.status, w.bytes)
		}
	}
}

// sink takes an answer and keeps nothing of it.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header { return s.header }

// SetReadDeadline is what the connection of a real request has.
func (s *sink) SetReadDeadline(time.Time) error { return nil }

func (s *sink) WriteHeader(status int) {
	s.status = status
}
func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	return len(p), nil
}

// BenchmarkEndToEnd is the same as a client sees it: over TLS and HTTP/2 on the loopback interface, on a connection that stays open,
// as the API server's does.
func BenchmarkEndToEnd(b *testing.B) {
	for _, n := range []int{1, 500, 5000} {
		for _, from := range []string{"v1", "v1alpha1"} {
			b.Run(fmt.Sprintf("objects=%d/from=%s", n, from), func(b *testing.B) {
				body := realisticReview(from, n)
				compare(b, n, []contender{
					{"ours", calling(b, conversion.NewHandler(conversion.HandlerOptions{}), body)},
					{"stock", calling(b, stockHandler(b), body)},
					{"echo", calling(b, http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { _, _ = io.Copy(w, req.Body) }), body)},
				})
			})
		}
	}
}

// calling starts a server and posts a body to it.
func calling(b *testing.B, h http.Handler, body []byte) func() {
	server := httptest.NewUnstartedServer(h)
	server.EnableHTTP2 = true
	server.StartTLS()
	b.Cleanup(server.Close)
	client := server.Client()
	return func() {
		response, err := client.Post(server.URL, "application/json", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		defer response.Body.Close()
		if read, err := io.Copy(io.Discard, response.Body); err != nil || response.ProtoMajor != 2 || read < int64(len(body)/4) {
			b.Fatalf("%s, %d bytes, %v", response.Proto, read, err)
		}
	}
}

// BenchmarkReaders compares ways to read an object once: what the cursor was chosen by. An object that has the version asked for
// is read by the cursor, copied, and nothing else.
func BenchmarkReaders(b *testing.B) {
	text := realistic("v1", 1)
	lenient := []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
	compare(b, 1, []contender{
		{"cursor", func() {
			if _, err := conversion.Convert(text, "app.example.com/v1"); err != nil {
				b.Fatal(err)
			}
		}},
		{"jsontext.IsValid", func() { jsontext.Value(text).IsValid(lenient...) }},
		{"jsontext.Decoder", func() {
			for decoder := jsontext.NewDecoder(bytes.NewReader(text), lenient...); ; {
				if _, err := decoder.ReadToken(); err != nil {
					break
				}
			}
		}},
		{"json.Valid", func() { json.Valid(text) }},
		{"json.Unmarshal", func() {
			var value any
			if err := json.Unmarshal(text, &value); err != nil {
				b.Fatal(err)
			}
		}},
	})
}
