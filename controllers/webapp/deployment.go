package webapp

import (
	"fmt"
	"maps"

	"github.com/distribution/reference"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/podtemplate"
)

// Defaults of fields that are unset in the spec. They are part of the API's documentation and never change.
const (
	defaultReplicas                = 1
	defaultPort                    = 80
	defaultProgressDeadlineSeconds = 600
	defaultRevisionHistoryLimit    = 10
	defaultSurge                   = "25%"
)

// portName is the name of the port in the container and in the Service. It stays when the number changes, which is how
// the API server recognises the port and keeps its nodePort.
const portName = "http"

// deploymentFor returns the Deployment that the spec asks for. Fields are set even to their defaults, so that they are
// owned and a change by somebody else is undone.
func deploymentFor(w *appv1.WebApp, o observed) (*applyappsv1.DeploymentApplyConfiguration, error) {
	selector := &metav1.LabelSelector{MatchLabels: selectorOf(w)}
	if d := o.deployment; d != nil && metav1.IsControlledBy(d, w) && d.Spec.Selector != nil {
		// The selector cannot be changed. One from another release is kept, and the Pods get the labels it asks for.
		selector = d.Spec.Selector
	}
	labels := labelsOf(w)
	labels["app"] = w.Name
	maps.Copy(labels, selector.MatchLabels)
	template, err := podtemplate.Build(&w.Spec.PodSettings, podtemplate.Options{
		Labels:   labels,
		Selector: selectorOf(w),
		Ports:    []corev1.ContainerPort{{Name: portName, ContainerPort: targetPortOf(w), Protocol: corev1.ProtocolTCP}},
	})
	if err != nil {
		return nil, err
	}
	applySelector := applymetav1.LabelSelector()
	if err := transcode(selector, applySelector); err != nil {
		return nil, fmt.Errorf("reading the selector of the Deployment: %w", err)
	}
	spec := applyappsv1.DeploymentSpec().
		WithSelector(applySelector).
		WithTemplate(template).
		WithStrategy(strategyFor(w)).
		WithMinReadySeconds(w.Spec.MinReadySeconds).
		WithProgressDeadlineSeconds(orDefault(w.Spec.ProgressDeadlineSeconds, defaultProgressDeadlineSeconds)).
		WithRevisionHistoryLimit(orDefault(w.Spec.RevisionHistoryLimit, defaultRevisionHistoryLimit)).
		WithPaused(w.Spec.Paused)
	spec.Replicas, err = replicasFor(w, o)
	if err != nil {
		return nil, err
	}
	return applyappsv1.Deployment(w.Name+appv1.DeploymentSuffix, w.Namespace).
		WithLabels(labelsOf(w)).
		WithOwnerReferences(ownerOf(w)).
		WithSpec(spec), nil
}

// replicasFor returns the number of Pods to apply; nil leaves the number to somebody else.
//
// While an autoscaler of somebody else targets the Deployment, the number is its business. What the operator still owns
// of it is applied unchanged, because a field that is dropped by its only owner falls back to its default.
func replicasFor(w *appv1.WebApp, o observed) (*int32, error) {
	replicas := new(orDefault(w.Spec.Replicas, defaultReplicas))
	if w.Spec.Suspend {
		return new(int32(0)), nil
	}
	d := o.deployment
	if len(o.scalers) == 0 || d == nil || !metav1.IsControlledBy(d, w) {
		return replicas, nil
	}
	owned, err := ownsReplicas(d)
	switch {
	case err != nil:
		return nil, err
	case !owned:
		return nil, nil
	case orDefault(d.Spec.Replicas, 0) == 0:
		// A leftover of suspend: an autoscaler does not scale up from zero.
		return replicas, nil
	}
	return d.Spec.Replicas, nil
}

func strategyFor(w *appv1.WebApp) *applyappsv1.DeploymentStrategyApplyConfiguration {
	asked := orDefault(w.Spec.Strategy, appv1.Strategy{})
	if asked.Type == appv1.RecreateStrategy {
		return applyappsv1.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)
	}
	pace := orDefault(asked.RollingUpdate, appv1.RollingUpdate{})
	return applyappsv1.DeploymentStrategy().
		WithType(appsv1.RollingUpdateDeploymentStrategyType).
		WithRollingUpdate(applyappsv1.RollingUpdateDeployment().
			WithMaxSurge(orDefault(pace.MaxSurge, intstr.FromString(defaultSurge))).
			WithMaxUnavailable(orDefault(pace.MaxUnavailable, intstr.FromString(defaultSurge))))
}

// invalidImage says what is wrong with an image that the cluster would accept and no node could pull.
func invalidImage(image string) *problem {
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return &problem{workloadv1.ReasonInvalidSpec, fmt.Sprintf("spec.image %q is not an image reference: %v.", image, err)}
	}
	return nil
}
