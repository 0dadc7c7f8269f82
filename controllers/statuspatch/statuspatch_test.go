package statuspatch

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

func TestBetween(t *testing.T) {
	former := &appv1.WebApp{}
	former.ResourceVersion = "7"
	former.Status = appv1.WebAppStatus{ObservedGeneration: -1, URL: "http://x", Phase: appv1.PhasePending}
	next := former.DeepCopy()
	next.Status = appv1.WebAppStatus{ObservedGeneration: 1, Replicas: 2, Phase: appv1.PhasePending}

	patch, err := Between(former, next)
	if err != nil {
		t.Fatal(err)
	}
	data, err := patch.Data(next)
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"metadata": map[string]any{"resourceVersion": "7"},
		"status": map[string]any{
			"observedGeneration": 1.0, "phase": "Pending", "url": nil,
			"replicas": 2.0, "readyReplicas": 0.0, "updatedReplicas": 0.0, "availableReplicas": 0.0,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
