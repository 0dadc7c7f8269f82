package certs

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager owns the caBundle fields, and nothing else.
const FieldManager = "workload-operator-ca"

// slot is one caBundle inside a target.
type slot struct {
	// pointer is the JSON pointer to the field.
	pointer string
	bundle  []byte
}

// slots lists the caBundle fields of a target. A CustomResourceDefinition without a conversion webhook has none.
func slots(target client.Object) []slot {
	var found []slot
	switch t := target.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		if c := t.Spec.Conversion; c != nil && c.Strategy == apiextensionsv1.WebhookConverter &&
			c.Webhook != nil && c.Webhook.ClientConfig != nil {
			found = append(found, slot{"/spec/conversion/webhook/clientConfig/caBundle", c.Webhook.ClientConfig.CABundle})
		}
	case *admissionv1.ValidatingWebhookConfiguration:
		for i := range t.Webhooks {
			found = append(found, slot{webhookPointer(i), t.Webhooks[i].ClientConfig.CABundle})
		}
	case *admissionv1.MutatingWebhookConfiguration:
		for i := range t.Webhooks {
			found = append(found, slot{webhookPointer(i), t.Webhooks[i].ClientConfig.CABundle})
		}
	}
	return found
}

func webhookPointer(index int) string {
	return fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", index)
}

// holds says whether every caBundle of the target is exactly the bundle.
func holds(target client.Object, bundle []byte) bool {
	for _, s := range slots(target) {
		if !bytes.Equal(s.bundle, bundle) {
			return false
		}
	}
	return true
}

// patchFor returns the JSON patch that puts the bundle into every caBundle of the target which differs, nil when none does.
//
// It carries the resourceVersion that the target was seen at, so the API server refuses it with a conflict when the target has
// changed since: the index of a webhook may mean another one by then. Server-side apply is no choice here, since applying a
// conversion stanza would take ownership of the strategy and the client configuration from whoever installs them.
func patchFor(target client.Object, bundle []byte) ([]byte, error) {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var operations []operation
	for _, s := range slots(target) {
		if !bytes.Equal(s.bundle, bundle) {
			operations = append(operations, operation{"add", s.pointer, bundle})
		}
	}
	if operations == nil {
		return nil, nil
	}
	operations = append(operations, operation{"add", "/metadata/resourceVersion", target.GetResourceVersion()})
	return json.Marshal(operations)
}

// vouches returns nil when every caBundle of the target makes the API server accept the certificate that is served.
func vouches(target client.Object, serving *material, now time.Time) error {
	for _, s := range slots(target) {
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(s.bundle) {
			return fmt.Errorf("%s holds no certificate", s.pointer)
		}
		if err := verify(serving, roots, now); err != nil {
			return fmt.Errorf("%s does not vouch for the serving certificate: %w", s.pointer, err)
		}
	}
	return nil
}

// kindOf names the kind of a target; typed objects do not carry it themselves.
func kindOf(target client.Object) string {
	switch target.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		return "CustomResourceDefinition"
	case *admissionv1.ValidatingWebhookConfiguration:
		return "ValidatingWebhookConfiguration"
	case *admissionv1.MutatingWebhookConfiguration:
		return "MutatingWebhookConfiguration"
	}
	return ""
}
