package webhooks

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A few bytes must not keep the operator busy for minutes, in whatever field, and whoever asks: the API server refuses such objects
// by their schema, and others can call the webhook too.
func TestEndlessQuantities(t *testing.T) {
	const endless = `-1.00000000000000000000001e999999999`
	r := rules(t)
	for where, spec := range map[string]string{
		"request":    `{"resources": {"requests": {"cpu": "` + endless + `"}}}`,
		"limit":      `{"resources": {"limits": {"example.com/gpu": "1e1215752191"}, "requests": {"example.com/gpu": 3}}}`,
		"a number":   `{"resources": {"requests": {"cpu": ` + endless + `}}}`,
		"size limit": volumeWith(`"emptyDir": {"sizeLimit": "`+endless+`"}`, ``),
		"divisor":    `{"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "` + endless + `"}}}]}`,
	} {
		for _, gk := range []schema.GroupKind{webApp, podSet} {
			for _, version := range versions {
				object := base(t, gk.WithVersion("v1"), `{"spec": `+spec+`}`)
				started := time.Now()
				request := Request{Kind: gk, Version: version, Object: object, Old: base(t, gk.WithVersion("v1"))}
				got, err := r.Validate(t.Context(), request)
				if took := time.Since(started); err == nil && len(got.Errors) == 0 || took > time.Second {
					t.Errorf("%s of %s in %s: %v, %v in %s", where, gk.Kind, version, got, err, took)
				}
			}
		}
	}
	// Elsewhere such text is nobody's business.
	fine := base(t, webApp.WithVersion("v1"), `{"spec": {"env": [{"name": "A", "value": "`+endless+`"}], "podAnnotations": {"a": "1e999"}}}`)
	if got, err := r.Validate(t.Context(), Request{Kind: webApp, Version: "v1", Object: fine}); err != nil || len(got.Errors) > 0 {
		t.Errorf("%v, %v", got, err)
	}
}
