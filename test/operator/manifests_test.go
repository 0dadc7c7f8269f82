package operator

import (
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const rendered = `
apiVersion: v1
kind: Service
metadata: {name: workload-operator-webhook-service}
spec: {selector: {a: b}, ports: [{port: 443, targetPort: webhook}]}
---
apiVersion: v1
kind: Service
metadata: {name: workload-operator-metrics-service}
spec: {selector: {a: b}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: workload-operator-controller-manager}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.app.example.com}
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s, port: 443}}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: v}
webhooks: [{name: a, clientConfig: {service: {name: s}}}, {name: b, clientConfig: {service: {name: s, port: 443}}}]
`

const adapted = `
apiVersion: v1
kind: Service
metadata: {name: workload-operator-webhook-service}
spec: {type: ExternalName, externalName: host, ports: [{port: 443, targetPort: webhook}]}
---
apiVersion: v1
kind: Service
metadata: {name: workload-operator-metrics-service}
spec: {selector: {a: b}}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: webapps.app.example.com}
spec: {conversion: {strategy: Webhook, webhook: {clientConfig: {service: {name: s, port: 1234}}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: v}
webhooks: [{name: a, clientConfig: {service: {name: s, port: 1234}}}, {name: b, clientConfig: {service: {name: s, port: 1234}}}]
`

func TestAdapt(t *testing.T) {
	in, want := parse(t, rendered), parse(t, adapted)
	before := in[0].DeepCopy()
	got, err := adapt(in, endpoint{host: "host", port: 1234})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if diff := cmp.Diff(before, in[0]); diff != "" {
		t.Errorf("adapt changed its argument (-before, +after):\n%s", diff)
	}
}

func TestDecodeNamesTheMistake(t *testing.T) {
	if _, err := decode([]byte("a: [")); err == nil {
		t.Error("broken YAML was decoded")
	}
}

func TestOutputQuotesStandardError(t *testing.T) {
	_, err := output(exec.Command("sh", "-c", "echo reason >&2; exit 3"))
	if err == nil || err.Error() != "sh -c: exit status 3: reason" {
		t.Errorf("got %v", err)
	}
}

func parse(t *testing.T, manifests string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := decode([]byte(manifests))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}
