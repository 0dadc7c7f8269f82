package webapp

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestJudge sorts failures of writes by who has to act.
func TestJudge(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	terminating := apierrors.NewForbidden(resource, "x", errors.New("no"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	invalid := func(path string) error {
		return apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath(path), "v", "wrong")})
	}
	type result struct {
		Reasons   []string
		Retry     time.Duration
		Abandoned bool
		Failed    bool
	}
	tests := map[string]struct {
		reason string
		err    error
		want   result
	}{
		"conflict":      {"the winner's event, or a moment, brings the next pass", apierrors.NewConflict(resource, "x", errors.New("no")), result{Retry: conflictDelay}},
		"other UID":     {"the object was replaced meanwhile", invalid("metadata.uid"), result{Retry: conflictDelay}},
		"W-18":          {"the namespace goes", terminating, result{Abandoned: true}},
		"no namespace":  {"it has gone", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "x"), result{Abandoned: true}},
		"invalid":       {"only the user can help", invalid("spec.x"), result{Reasons: []string{workloadv1.ReasonInvalidSpec}}},
		"forbidden":     {"a policy or a quota may change", apierrors.NewForbidden(resource, "x", errors.New("no")), result{Reasons: []string{appv1.ReasonApplyFailed}, Failed: true}},
		"no connection": {"it may come back", errors.New("connection refused"), result{Reasons: []string{appv1.ReasonApplyFailed}, Failed: true}},
		"W-07 taken":    {"somebody else has the name", &takenError{&appsv1.Deployment{}}, result{Reasons: []string{workloadv1.ReasonNotOwned}}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var d outcome
			d.judge(step{verb: update, kind: "Deployment", name: "x"}, test.err)
			got := result{Retry: d.retry, Abandoned: d.abandoned, Failed: d.err != nil}
			for _, p := range d.problems {
				got.Reasons = append(got.Reasons, p.reason)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", test.reason, diff)
			}
		})
	}
}

func TestPortsClash(t *testing.T) {
	kind := schema.GroupKind{Kind: "Service"}
	ports := apierrors.NewInvalid(kind, "x", field.ErrorList{field.Duplicate(field.NewPath("spec", "ports").Index(1).Child("name"), "http")})
	other := apierrors.NewInvalid(kind, "x", field.ErrorList{field.Invalid(field.NewPath("spec", "type"), "x", "wrong")})
	container := field.NewPath("spec", "template", "spec", "containers").Index(0).Child("ports").Index(1).Child("name")
	containers := apierrors.NewInvalid(kind, "x", field.ErrorList{field.Duplicate(container, "http")})
	for err, want := range map[error]bool{ports: true, containers: true, other: false, errors.New("x"): false} {
		if got := portsClash(err); got != want {
			t.Errorf("%v: got %t", err, got)
		}
	}
	if portsClash(nil) {
		t.Error("no error is no clash")
	}
}

func TestEvents(t *testing.T) {
	status := func(phase appv1.Phase, ready metav1.ConditionStatus, generation int64) appv1.WebAppStatus {
		return appv1.WebAppStatus{Phase: phase, ObservedGeneration: generation,
			Conditions: []metav1.Condition{{Type: workloadv1.ConditionReady, Status: ready, Message: "Because."}}}
	}
	pending, running, failed := status("Pending", "False", 4), status("Running", "True", 4), status("Failed", "False", 4)
	tests := map[string]struct {
		reason  string
		former  appv1.WebAppStatus
		next    appv1.WebAppStatus
		changes []change
		want    []string
	}{
		"created":    {"the first children are no news", appv1.WebAppStatus{}, pending, []change{{create, &corev1.ObjectReference{Kind: "Service", Name: "x"}}}, nil},
		"W-02":       {"nothing happened", running, running, nil, nil},
		"running":    {"it got there", pending, running, nil, []string{"Normal Running Because."}},
		"failed":     {"it did not", running, failed, nil, []string{"Warning Failed Because."}},
		"still":      {"once is enough", failed, failed, nil, nil},
		"restored":   {"somebody had changed it", running, running, []change{{update, &corev1.ObjectReference{Kind: "Service", Name: "x"}}}, []string{"Normal Restored Restored the Service x."}},
		"own change": {"the user changed the spec", status("Running", "True", 3), pending, []change{{update, &corev1.ObjectReference{Kind: "Service", Name: "x"}}}, nil},
		"deleted": {"something is gone for good", running, running, []change{{remove, &corev1.ObjectReference{Kind: "Ingress", Name: "x"}}},
			[]string{"Normal Deleted Deleted the Ingress x, which is no longer asked for."}},
		"adopted": {"something has a new owner", pending, pending, []change{{adopt, &corev1.ObjectReference{Kind: "Service", Name: "x"}}},
			[]string{"Normal Adopted Took over the orphaned Service x."}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := stored()
			w.Status = test.former
			var got []string
			for _, e := range eventsOf(w, test.next, test.changes) {
				got = append(got, e.kind+" "+e.reason+" "+e.note)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", test.reason, diff)
			}
		})
	}
}
