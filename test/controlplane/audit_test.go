package controlplane

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const auditLines = `{"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/a/pods?limit=1","verb":"list","user":{"username":"u"},"userAgent":"x/1","objectRef":{"resource":"pods","namespace":"a","apiVersion":"v1"},"responseStatus":{"code":200}}
{"stage":"ResponseStarted","verb":"watch","userAgent":"x/1","objectRef":{"resource":"pods","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"watch","userAgent":"x/1","objectRef":{"resource":"pods","apiVersion":"v1"}}
{"stage":"ResponseComplete","verb":"patch","userAgent":"y/1","objectRef":{"resource":"deployments","subresource":"status","apiGroup":"apps","apiVersion":"v1","name":"d"},"responseStatus":{"code":409}}
`

func TestAuditLogRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	log := AuditLog(path)
	write(t, path, auditLines+`{"stage":"ResponseComplete","verb":"ge`)

	var got []Request
	next, err := log.Read(0, func(r *Request) { got = append(got, *r) })
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{
		{User: "u", UserAgent: "x/1", Verb: "list", Version: "v1", Resource: "pods", Namespace: "a", Path: "/api/v1/namespaces/a/pods?limit=1", Code: 200},
		{UserAgent: "x/1", Verb: "watch", Version: "v1", Resource: "pods"},
		{UserAgent: "y/1", Verb: "patch", Group: "apps", Version: "v1", Resource: "deployments", Subresource: "status", Name: "d", Code: 409},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if next != int64(len(auditLines)) {
		t.Errorf("next is %d, want %d: the unfinished line is left", next, len(auditLines))
	}

	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(`t","userAgent":"z/1"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	counts, err := log.Count(next, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[RequestKind]int{{UserAgent: "z/1", Verb: "get"}: 1}, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
