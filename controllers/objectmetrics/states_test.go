package objectmetrics

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

func at(status metav1.ConditionStatus, reason string, others ...string) State {
	s := State{Conditions: []metav1.Condition{{Type: workloadv1.ConditionReady, Status: status, Reason: reason}}}
	for _, other := range others {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: other, Status: metav1.ConditionTrue})
	}
	return s
}

// Objects are counted once, by the last state that was told, until they are gone.
func TestStates(t *testing.T) {
	objects.Reset()
	degraded.Reset()
	backingOff.Set(0)
	a, b, c := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}, types.NamespacedName{Namespace: "x", Name: "a"}
	s := &States{Kind: "PodSet"}
	s.Set(a, at(metav1.ConditionFalse, "Progressing"))
	s.Set(a, at(metav1.ConditionTrue, "Ready"))
	s.Set(a, at(metav1.ConditionTrue, "Ready"))
	s.Set(b, at(metav1.ConditionTrue, "Ready", workloadv1.ConditionConversionDegraded))
	failing := at(metav1.ConditionFalse, "FailingPods", workloadv1.ConditionConversionDegraded)
	failing.BackingOff = true
	s.Set(c, failing)
	expect(t, 2, 1)
	s.Forget(b)
	s.Forget(b)
	expect(t, 1, 1)
	s.Set(c, at(metav1.ConditionFalse, "FailingPods"))
	expect(t, 0, 0)
	want := `
# HELP workload_operator_objects Objects that this replica reconciles, by kind, and by status and reason of the condition Ready.
# TYPE workload_operator_objects gauge
workload_operator_objects{kind="PodSet",ready="false",reason="FailingPods"} 1
workload_operator_objects{kind="PodSet",ready="false",reason="Progressing"} 0
workload_operator_objects{kind="PodSet",ready="true",reason="Ready"} 1
`
	if err := testutil.CollectAndCompare(objects, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}

func expect(t *testing.T, wantDegraded, wantBackingOff float64) {
	t.Helper()
	if got := testutil.ToFloat64(degraded.WithLabelValues("PodSet")); got != wantDegraded {
		t.Errorf("%v objects are degraded, want %v", got, wantDegraded)
	}
	if got := testutil.ToFloat64(backingOff); got != wantBackingOff {
		t.Errorf("%v PodSets back off, want %v", got, wantBackingOff)
	}
}
