package webapp

import (
	"bytes"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// noon is when every pure test takes place.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// stored is the sample as the API server holds it.
func stored(mutate ...func(*appv1.WebApp)) *appv1.WebApp {
	w := sample()
	w.Namespace, w.UID, w.Generation = "shop", "uid-of-my-app", 4
	for _, m := range mutate {
		m(w)
	}
	return w
}

// asLive returns the object that applying a configuration creates, with the field manager's record of it.
func asLive[O any, P interface {
	*O
	client.Object
}](t testing.TB, config runtime.ApplyConfiguration) P {
	t.Helper()
	live := P(new(O))
	if err := transcode(config, live); err != nil {
		t.Fatal(err)
	}
	live.SetUID("uid-of-" + types.UID(live.GetName()))
	live.SetResourceVersion("7")
	live.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager: workloadv1.FieldManager, Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1",
		APIVersion: live.GetObjectKind().GroupVersionKind().GroupVersion().String(),
		FieldsV1:   fieldsOf(t, config),
	}})
	return live
}

func fieldsOf(t testing.TB, config runtime.ApplyConfiguration) *metav1.FieldsV1 {
	t.Helper()
	u, err := asUnstructured(config)
	if err != nil {
		t.Fatal(err)
	}
	typed, err := converter().ObjectToTyped(u)
	if err != nil {
		t.Fatal(err)
	}
	set, err := typed.ToFieldSet()
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	if err := set.Difference(unownable).ToJSONStream(&raw); err != nil {
		t.Fatal(err)
	}
	return metav1.NewFieldsV1(raw.String())
}

// liveDeployment is the sample's Deployment in the midst of things: current, without Pods and conditions.
func liveDeployment(t testing.TB, w *appv1.WebApp, mutate ...func(*appsv1.Deployment)) *appsv1.Deployment {
	t.Helper()
	config, err := deploymentFor(w, observed{})
	if err != nil {
		t.Fatal(err)
	}
	d := asLive[appsv1.Deployment](t, config)
	d.Generation, d.Status.ObservedGeneration = 2, 2
	for _, m := range mutate {
		m(d)
	}
	return d
}

// counts sets the numbers of Pods in the status.
func counts(all, updated, available int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Replicas, d.Status.UpdatedReplicas = all, updated
		d.Status.ReadyReplicas, d.Status.AvailableReplicas = available, available
	}
}

// reports sets a condition of the Deployment, as of an hour ago.
func reports(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Status.Conditions = append(d.Status.Conditions, appsv1.DeploymentCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastUpdateTime: metav1.NewTime(noon.Add(-time.Hour)), LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour)),
		})
	}
}

// wasNotReadyFor gives the WebApp a Ready condition that is false for so long.
func wasNotReadyFor(d time.Duration) func(*appv1.WebApp) {
	return func(w *appv1.WebApp) {
		w.Status.Conditions = []metav1.Condition{{Type: workloadv1.ConditionReady, Status: metav1.ConditionFalse,
			Reason: workloadv1.ReasonProgressing, LastTransitionTime: metav1.NewTime(noon.Add(-d))}}
	}
}

// podThat waits for the given reason.
func podThat(waits string) *corev1.Pod {
	return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: workloadv1.ContainerName, Image: "web:2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waits}},
	}}}}
}
