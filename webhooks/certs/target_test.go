package certs

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func crdHolding(bundle string) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "webapps.app.example.com", ResourceVersion: "7"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &apiextensionsv1.CustomResourceConversion{
			Strategy: apiextensionsv1.WebhookConverter,
			Webhook: &apiextensionsv1.WebhookConversion{
				ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(bundle)},
			},
		}},
	}
}

func validatingHolding(bundles ...string) *admissionv1.ValidatingWebhookConfiguration {
	c := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "v", ResourceVersion: "8"}}
	for _, bundle := range bundles {
		c.Webhooks = append(c.Webhooks, admissionv1.ValidatingWebhook{
			ClientConfig: admissionv1.WebhookClientConfig{CABundle: []byte(bundle)},
		})
	}
	return c
}

// O-02: what is right is not written, and what is wrong is written alone.
func TestPatchFor(t *testing.T) {
	unconverted := crdHolding("bundle")
	unconverted.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	version := func(v string) map[string]string {
		return map[string]string{"op": "add", "path": "/metadata/resourceVersion", "value": v}
	}
	caBundle := func(path string) map[string]string {
		// base64 of "bundle"
		return map[string]string{"op": "add", "path": path, "value": "YnVuZGxl"}
	}
	tests := map[string]struct {
		reason string
		target client.Object
		want   []map[string]string
	}{
		"Right":       {reason: "not written", target: crdHolding("bundle")},
		"Wiped":       {reason: "written with the version seen", target: crdHolding(""), want: []map[string]string{caBundle("/spec/conversion/webhook/clientConfig/caBundle"), version("7")}},
		"Newline":     {reason: "bytes are compared", target: crdHolding("\n"), want: []map[string]string{caBundle("/spec/conversion/webhook/clientConfig/caBundle"), version("7")}},
		"NoWebhook":   {reason: "a stanza is not ours to make", target: unconverted},
		"SomeWrong":   {reason: "only the wrong ones", target: validatingHolding("bundle", "x", "bundle", ""), want: []map[string]string{caBundle("/webhooks/1/clientConfig/caBundle"), caBundle("/webhooks/3/clientConfig/caBundle"), version("8")}},
		"NoneAtAll":   {reason: "nothing to hold", target: validatingHolding()},
		"RightHooks":  {reason: "not written", target: validatingHolding("bundle", "bundle")},
		"MutatingOne": {reason: "the other kind", target: &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}, Webhooks: make([]admissionv1.MutatingWebhook, 1)}, want: []map[string]string{caBundle("/webhooks/0/clientConfig/caBundle"), version("9")}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			patch, err := patchFor(tc.target, []byte("bundle"))
			if err != nil {
				t.Fatal(err)
			}
			var got []map[string]string
			if patch != nil {
				if err := json.Unmarshal(patch, &got); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: patchFor: -want +got:\n%s", tc.reason, diff)
			}
			if held := holds(tc.target, []byte("bundle")); held != (tc.want == nil) {
				t.Errorf("holds = %t", held)
			}
		})
	}
}

func TestVouches(t *testing.T) {
	serving := decode(base(t))
	trusted, other := string(serving.bundlePEM()), string(decode(base(t)).bundlePEM())
	tests := map[string]struct {
		target client.Object
		want   bool
	}{
		"Trusted":      {crdHolding(trusted), true},
		"TrustedToo":   {crdHolding(other + trusted), true},
		"OtherOnly":    {crdHolding(other), false},
		"Wiped":        {crdHolding(""), false},
		"HalfPEM":      {crdHolding(trusted[:60]), false},
		"OneOfTwoHook": {validatingHolding(trusted, other), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if err := vouches(tc.target, serving, epoch); (err == nil) != tc.want {
				t.Errorf("vouches: %v, want trusted %t", err, tc.want)
			}
		})
	}
}
