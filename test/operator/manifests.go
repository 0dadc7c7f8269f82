package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// endpoint is where the API server reaches the manager's webhooks.
type endpoint struct {
	host string
	port int64
}

// render returns the objects of a kustomization.
func render(ctx context.Context, kubectl, dir string) ([]*unstructured.Unstructured, error) {
	out, err := output(exec.CommandContext(ctx, kubectl, "kustomize", dir))
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", dir, err)
	}
	return decode(out)
}

func decode(manifests []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, fmt.Errorf("decoding manifests: %w", err)
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// adapt makes the manifests fit a manager that runs outside the cluster: the Deployment goes, the Service points to the
// endpoint, and the webhooks and the conversion stanza of the CRDs name the endpoint's port. A Service of type
// ExternalName maps no ports, so the port has to be the manager's own.
func adapt(objects []*unstructured.Unstructured, at endpoint) ([]*unstructured.Unstructured, error) {
	var adapted []*unstructured.Unstructured
	for _, object := range objects {
		object = object.DeepCopy()
		var err error
		switch object.GetKind() {
		case "Deployment":
			continue
		case "Service":
			err = adaptService(object, at.host)
		case "CustomResourceDefinition":
			err = unstructured.SetNestedField(object.Object, at.port, "spec", "conversion", "webhook", "clientConfig", "service", "port")
		case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
			err = adaptWebhooks(object, at.port)
		}
		if err != nil {
			return nil, fmt.Errorf("adapting %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		adapted = append(adapted, object)
	}
	return adapted, nil
}

func adaptService(service *unstructured.Unstructured, host string) error {
	if !strings.Contains(service.GetName(), "webhook") {
		return nil
	}
	unstructured.RemoveNestedField(service.Object, "spec", "selector")
	if err := unstructured.SetNestedField(service.Object, "ExternalName", "spec", "type"); err != nil {
		return err
	}
	return unstructured.SetNestedField(service.Object, host, "spec", "externalName")
}

func adaptWebhooks(configuration *unstructured.Unstructured, port int64) error {
	webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil {
		return err
	}
	for i := range webhooks {
		webhook, ok := webhooks[i].(map[string]any)
		if !ok {
			return fmt.Errorf("webhook %d is not an object", i)
		}
		if err := unstructured.SetNestedField(webhook, port, "clientConfig", "service", "port"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(configuration.Object, webhooks, "webhooks")
}

// encode returns the objects as a List that kubectl reads from standard input.
func encode(objects []*unstructured.Unstructured) ([]byte, error) {
	list := map[string]any{"apiVersion": "v1", "kind": "List"}
	items := make([]any, len(objects))
	for i := range objects {
		items[i] = objects[i].Object
	}
	list["items"] = items
	return json.Marshal(list)
}

// output runs a command and returns what it printed. The error holds what it printed to standard error.
func output(command *exec.Cmd) ([]byte, error) {
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		said := strings.TrimSpace(stderr.String())
		if said == "" {
			said = "it said nothing"
		}
		return nil, fmt.Errorf("%s: %w: %s", strings.Join(command.Args[:2], " "), err, said)
	}
	return out, nil
}
