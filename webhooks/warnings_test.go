package webhooks

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A-18 in v1.
func TestWarnings(t *testing.T) {
	const autoscaling = `{"spec": {"autoscaling": {"maxReplicas": 5}}}`
	tests := map[string]struct {
		kind        schema.GroupKind
		old, change string
		want        []string
	}{
		"nothing to warn of": {webApp, "", `{}`, nil},
		"no tag": {webApp, "", `{"spec": {"image": "web"}}`,
			[]string{`spec.image: "web" may mean another image tomorrow: set a tag other than latest, or a digest`}},
		"latest": {podSet, "", `{"spec": {"image": "web:latest"}}`,
			[]string{`spec.image: "web:latest" may mean another image tomorrow: set a tag other than latest, or a digest`}},
		"digest without a tag": {webApp, "", `{"spec": {"image": "web@sha256:` + digest + `"}}`, nil},
		"latest with a digest": {webApp, "", `{"spec": {"image": "web:latest@sha256:` + digest + `"}}`, nil},
		"no requests": {podSet, "", `{"spec": {"resources": {"requests": null, "limits": {"cpu": 1}}}}`,
			[]string{`spec.resources: without requests the scheduler may crowd a node: request cpu and memory`}},
		"no probe": {webApp, "", `{"spec": {"probes": {"readiness": null}}}`,
			[]string{`spec.probes.readiness: without a probe a Pod counts as ready as soon as its process runs: add one`}},
		"liveness only": {webApp, "", `{"spec": {"probes": {"readiness": null, "liveness": {"grpc": {"port": 1}}}}}`, nil},
		"replicas with autoscaling": {webApp, autoscaling, `{"spec": {"replicas": 4}}`,
			[]string{`spec.replicas: the autoscaler sets it, so this change will not last: change spec.autoscaling.minReplicas and spec.autoscaling.maxReplicas`}},
		"replicas without autoscaling":   {webApp, `{}`, `{"spec": {"replicas": 4}}`, nil},
		"another change, autoscaling on": {webApp, autoscaling, `{"spec": {"port": 81}}`, nil},
		"another change, however bad":    {webApp, `{"spec": {"image": "web", "resources": null, "probes": null}}`, `{"spec": {"port": 81}}`, nil},
		"another field of it": {webApp, `{"spec": {"resources": null}}`, `{"spec": {"resources": {"limits": {"cpu": 1}}}}`,
			[]string{`spec.resources: without requests the scheduler may crowd a node: request cpu and memory`}},
		"the probe goes": {webApp, `{"spec": {}}`, `{"spec": {"probes": null}}`,
			[]string{`spec.probes.readiness: without a probe a Pod counts as ready as soon as its process runs: add one`}},
		"no change, however bad": {webApp, `{"spec": {"image": "web"}}`, `{}`, nil},
	}
	r := rules(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			request := Request{Kind: test.kind, Version: "v1", Object: base(t, test.kind.WithVersion("v1"), test.change)}
			if test.old != "" {
				request.Old = base(t, test.kind.WithVersion("v1"), test.old)
				request.Object = merged(t, string(request.Old), test.change)
			}
			got, err := r.Validate(t.Context(), request)
			if err != nil || len(got.Errors) > 0 {
				t.Fatalf("refused: %v, %v", got.Errors, err)
			}
			if diff := cmp.Diff(test.want, got.Warnings); diff != "" {
				t.Error(diff)
			}
			for _, warning := range got.Warnings {
				if len(warning) > 256 {
					t.Errorf("%d characters are more than the API server passes on: %s", len(warning), warning)
				}
			}
		})
	}
}
