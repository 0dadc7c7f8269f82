package webapp

import (
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	applyautoscalingv2 "k8s.io/client-go/applyconfigurations/autoscaling/v2"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

const (
	defaultMinReplicas = 1
	defaultTargetCPU   = 80
)

// maxReplicas is the highest number of replicas that the API of WebApps accepts.
const maxReplicas = 10

// autoscalerFor returns the HorizontalPodAutoscaler of a WebApp, or nil if it asks for none or is suspended. It scales
// the WebApp itself, so that spec.replicas always says how many Pods there should be.
func autoscalerFor(w *appv1.WebApp) *applyautoscalingv2.HorizontalPodAutoscalerApplyConfiguration {
	settings := w.Spec.Autoscaling
	if settings == nil || w.Spec.Suspend {
		return nil
	}
	return applyautoscalingv2.HorizontalPodAutoscaler(w.Name+appv1.HorizontalPodAutoscalerSuffix, w.Namespace).
		WithLabels(labelsOf(w)).
		WithOwnerReferences(ownerOf(w)).
		WithSpec(applyautoscalingv2.HorizontalPodAutoscalerSpec().
			WithScaleTargetRef(applyautoscalingv2.CrossVersionObjectReference().
				WithAPIVersion(appv1.GroupVersion.String()).
				WithKind(kindWebApp).
				WithName(w.Name)).
			WithMinReplicas(orDefault(settings.MinReplicas, defaultMinReplicas)).
			WithMaxReplicas(settings.MaxReplicas).
			WithMetrics(metricsFor(settings)...))
}

func metricsFor(settings *appv1.Autoscaling) []*applyautoscalingv2.MetricSpecApplyConfiguration {
	cpu, memory := settings.TargetCPUUtilizationPercentage, settings.TargetMemoryUtilizationPercentage
	if cpu == nil && memory == nil {
		cpu = new(int32(defaultTargetCPU))
	}
	var metrics []*applyautoscalingv2.MetricSpecApplyConfiguration
	if cpu != nil {
		metrics = append(metrics, utilizationOf(corev1.ResourceCPU, *cpu))
	}
	if memory != nil {
		metrics = append(metrics, utilizationOf(corev1.ResourceMemory, *memory))
	}
	return metrics
}

func utilizationOf(resource corev1.ResourceName, percent int32) *applyautoscalingv2.MetricSpecApplyConfiguration {
	return applyautoscalingv2.MetricSpec().
		WithType(autoscalingv2.ResourceMetricSourceType).
		WithResource(applyautoscalingv2.ResourceMetricSource().
			WithName(resource).
			WithTarget(applyautoscalingv2.MetricTarget().
				WithType(autoscalingv2.UtilizationMetricType).
				WithAverageUtilization(percent)))
}
