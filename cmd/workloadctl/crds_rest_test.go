package main

import (
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/workload-operator/config"
)

// The step that stops serving v1 waits for the garbage collector, and no other does.
func TestRestBeforeStep(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		reason   string
		from, to config.Step
		age      time.Duration
		want     time.Duration
	}{
		"R2 to R1 at once":    {"the owners may not have been seen", config.StepR2, config.StepR1, 10 * time.Second, 50 * time.Second},
		"R2 to R1 later":      {"they have been seen", config.StepR2, config.StepR1, time.Hour, 0},
		"clock behind":        {"a wrong clock must not stop the step for good", config.StepR2, config.StepR1, -time.Hour, ownersSeen},
		"R2 to R3":            {"v1 stays", config.StepR2, config.StepR3, time.Second, 0},
		"R3 to R4":            {"no owner reference names v1alpha1", config.StepR3, config.StepR4, time.Second, 0},
		"R1 to R1":            {"v1 was not served", config.StepR1, config.StepR1, time.Second, 0},
		"nothing there to R1": {"nothing owns anything", "", config.StepR1, time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			change := stepChange{next: definitionAt(t, test.to)}
			if test.from != "" {
				change.live = definitionAt(t, test.from)
				changed, status := metav1.NewTime(now.Add(-test.age)), metav1.NewTime(now.Add(time.Hour))
				change.live.ManagedFields = []metav1.ManagedFieldsEntry{{Time: &changed}, {Time: &status, Subresource: "status"}, {}}
			}
			if got := change.rest(now); got != test.want {
				t.Errorf("%s: got %s, want %s", test.reason, got, test.want)
			}
		})
	}
}

func definitionAt(t *testing.T, step config.Step) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := config.CRDsAt(step)
	if err != nil {
		t.Fatal(err)
	}
	return crds[0]
}
