package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const input = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: webapps.app.example.com
spec:
  group: app.example.com
  names: {kind: WebApp, plural: webapps}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`

func TestRunWritesOneFinishedFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bases")
	if err := run(strings.NewReader(input), dir); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, "app.example.com_webapps.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := header + `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: webapps.app.example.com
spec:
  conversion:
    strategy: Webhook
    webhook:
      clientConfig:
        service:
          name: workload-operator-webhook-service
          namespace: workload-operator-system
          path: /convert
          port: 443
      conversionReviewVersions:
      - v1
  group: app.example.com
  names:
    kind: WebApp
    plural: webapps
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
    served: true
    storage: true
`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Errorf("file (-want +got):\n%s", diff)
	}
}

func TestRunWritesNothingOnError(t *testing.T) {
	tests := map[string]struct{ reason, input, want string }{
		"empty":         {reason: "controller-gen failed", input: "", want: errNoInput.Error()},
		"only a marker": {reason: "controller-gen found no kind", input: "---\n", want: errNoInput.Error()},
		"typo":          {reason: "fields are checked", input: input + "  scop: x\n", want: `unknown field "scop"`},
		"unknown kind": {
			reason: "every kind has a Go type", input: strings.Replace(input, "kind: WebApp", "kind: Other", 1),
			want: "no Go type is registered for app.example.com/v1, Kind=Other",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "bases")
			err := run(strings.NewReader(test.input), dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: error %v, want %q", test.reason, err, test.want)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s: the folder was written to", test.reason)
			}
		})
	}
}
