package conversion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
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
		quotedJSON(applied), strings.Join(fields, ","), name, spec)
	if version == hubVersion {
		return hub
	}
	result, err := Convert(hub, "app.example.com/"+version)
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

func realisticReview(from string, n int) []byte {
	objects := make([][]byte, n)
	for i := range objects {
		objects[i] = realistic(from, i)
	}
	return reviewOf("app.example.com/"+otherVersion(from), objects...)
}

// BenchmarkHandler compares the handler with controller-runtime's on the same reviews, and with the floor of reading the
// bytes. ns/object and the sizes are what to compare; make bench prints the ratios.
func BenchmarkHandler(b *testing.B) {
	for _, n := range []int{1, 500, 5000} {
		for _, from := range []string{"v1", "v1alpha1"} {
			body := realisticReview(from, n)
			b.Run(fmt.Sprintf("objects=%d/from=%s/impl=ours", n, from), func(b *testing.B) { benchHandler(b, NewHandler(HandlerOptions{}), body, n) })
			b.Run(fmt.Sprintf("objects=%d/from=%s/impl=stock", n, from), func(b *testing.B) { benchHandler(b, stockHandler(b), body, n) })
			b.Run(fmt.Sprintf("objects=%d/from=%s/impl=json.Valid", n, from), func(b *testing.B) {
				perObject(b, body, n, func() { json.Valid(body) })
			})
			b.Run(fmt.Sprintf("objects=%d/from=%s/impl=jsontext.IsValid", n, from), func(b *testing.B) {
				perObject(b, body, n, func() { jsontext.Value(body).IsValid(lenient...) })
			})
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
func (s *sink) WriteHeader(status int) {
	s.status = status
}
func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	return len(p), nil
}

func benchHandler(b *testing.B, h http.Handler, body []byte, n int) {
	reader := bytes.NewReader(body)
	req := httptest.NewRequest(http.MethodPost, "/convert", reader)
	req.Header.Set("Content-Type", "application/json")
	perObject(b, body, n, func() {
		reader.Reset(body)
		w := sink{header: http.Header{}, status: http.StatusOK}
		h.ServeHTTP(&w, req)
		if w.status != http.StatusOK || w.bytes < len(body)/4 {
			b.Fatalf("status %d, %d bytes", w.status, w.bytes)
		}
	})
}

func perObject(b *testing.B, body []byte, n int, f func()) {
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/object")
}

// BenchmarkConvert converts one object.
func BenchmarkConvert(b *testing.B) {
	for _, from := range []string{"v1", "v1alpha1"} {
		object := realistic(from, 1)
		b.Run("from="+from, func(b *testing.B) {
			perObject(b, object, 1, func() {
				if _, err := Convert(object, "app.example.com/"+otherVersion(from)); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
