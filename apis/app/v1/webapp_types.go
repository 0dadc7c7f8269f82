package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// WebApp runs a web application: a Deployment and a Service, and on request a HorizontalPodAutoscaler, a
// PodDisruptionBudget and an Ingress.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=wa,categories={all,workloads}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="URL",type=string,priority=1,JSONPath=`.status.url`
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="oldSelf.hasValue() || size(self.metadata.name) <= 59",message="metadata.name must be at most 59 characters, so that the names of the children fit"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="oldSelf.hasValue() || !format.dns1123Label().validate(self.metadata.name).hasValue()",message="metadata.name must be a DNS label: lower case letters, digits and '-', no dots"
type WebApp struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user asks for.
	// +required
	Spec WebAppSpec `json:"spec"`

	// status is what the operator last observed.
	// +optional
	// +kubebuilder:default={}
	Status WebAppStatus `json:"status,omitzero"`
}

// WebAppList is a list of WebApps.
//
// +kubebuilder:object:root=true
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WebApp `json:"items"`
}

// WebAppSpec is what the user asks for.
//
// +kubebuilder:validation:XValidation:fieldPath=".progressDeadlineSeconds",optionalOldSelf=true,rule="(has(self.progressDeadlineSeconds) ? self.progressDeadlineSeconds : 600) > (has(self.minReadySeconds) ? self.minReadySeconds : 0) || (oldSelf.hasValue() && (has(oldSelf.value().progressDeadlineSeconds) ? oldSelf.value().progressDeadlineSeconds : 600) <= (has(oldSelf.value().minReadySeconds) ? oldSelf.value().minReadySeconds : 0))",message="progressDeadlineSeconds (600 if unset) must be greater than minReadySeconds"
type WebAppSpec struct {
	workloadv1.PodSettings `json:",inline"`

	// replicas is the desired number of Pods, from 1 to 10. To run no Pods for a while, set suspend.
	// Default: 1. With autoscaling, the autoscaler sets it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:validation:XValidation:rule="self != 0",message="zero replicas are not allowed: set spec.suspend to run no Pods"
	Replicas *int32 `json:"replicas,omitempty"`

	// port is the port of the Service. Default: 80.
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// targetPort is the port the container listens on. Unset: same as port.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	TargetPort *int32 `json:"targetPort,omitempty"`

	// strategy says how Pods are replaced when their template changes. Unset: RollingUpdate.
	// +optional
	Strategy *Strategy `json:"strategy,omitempty"`

	// minReadySeconds is how long, in seconds, a Pod must be ready before it counts as available. Unset: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// progressDeadlineSeconds is how long, in seconds, a rollout may go without progress, or a finished rollout may have
	// fewer available Pods than desired, before the phase becomes Failed. Must be greater than minReadySeconds. Unset: 600.
	// +optional
	// +kubebuilder:validation:Minimum=1
	ProgressDeadlineSeconds *int32 `json:"progressDeadlineSeconds,omitempty"`

	// revisionHistoryLimit is how many old ReplicaSets are kept for rolling back. Unset: 10. Zero: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty"`

	// paused holds rollouts back: a changed template is not rolled out while it is true. Scaling and healing go on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// suspend runs no Pods while it is true. The Service is kept, and so is the value of replicas.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// autoscaling lets a HorizontalPodAutoscaler set replicas. Unset: no autoscaler.
	// +optional
	Autoscaling *Autoscaling `json:"autoscaling,omitempty"`

	// disruptionBudget limits how many Pods may be evicted at once, for example while a node is drained.
	// It takes effect above one replica. Unset: no limit.
	// +optional
	DisruptionBudget *DisruptionBudget `json:"disruptionBudget,omitempty"`

	// service adjusts the Service. Unset: a ClusterIP Service without annotations.
	// +optional
	Service *ServiceSettings `json:"service,omitempty"`

	// ingress publishes the Service under a host name. Unset: no Ingress.
	// +optional
	Ingress *IngressSettings `json:"ingress,omitempty"`
}

// StrategyType says how Pods are replaced.
//
// +kubebuilder:validation:Enum=RollingUpdate;Recreate
type StrategyType string

const (
	// RollingUpdateStrategy replaces Pods step by step.
	RollingUpdateStrategy StrategyType = "RollingUpdate"

	// RecreateStrategy stops all Pods before it starts new ones.
	RecreateStrategy StrategyType = "Recreate"
)

// Strategy says how Pods are replaced when their template changes.
//
// +kubebuilder:validation:XValidation:fieldPath=".rollingUpdate",rule="!has(self.rollingUpdate) || !has(self.type) || self.type == 'RollingUpdate'",message="rollingUpdate is only allowed with type RollingUpdate"
type Strategy struct {
	// type is RollingUpdate or Recreate. Unset: RollingUpdate.
	// +optional
	Type StrategyType `json:"type,omitempty"`

	// rollingUpdate sets the pace of type RollingUpdate. Unset: maxSurge 25%, maxUnavailable 25%.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate sets the pace of a rolling update. Both fields are a number of Pods or a percentage of replicas.
//
// +kubebuilder:validation:XValidation:rule="!has(self.maxSurge) || !has(self.maxUnavailable) || [self.maxSurge, self.maxUnavailable].exists(v, type(v) == int ? int(v) != 0 : !string(v).matches('^0+%$'))",message="maxSurge and maxUnavailable must not both be zero"
type RollingUpdate struct {
	// maxSurge is how many Pods may run above replicas, rounded up. Unset: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^[0-9]+%$')",message="must be a number that is not negative, or a percentage such as 25%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`

	// maxUnavailable is how many Pods may be unavailable, rounded down. Unset: 25%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 0 : string(self).matches('^(100|[0-9]{1,2})%$')",message="must be a number that is not negative, or a percentage up to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// Autoscaling lets a HorizontalPodAutoscaler set replicas. Without any target, the target is 80 percent of the
// requested CPU.
//
// +kubebuilder:validation:XValidation:fieldPath=".minReplicas",rule="!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas must not be above maxReplicas"
type Autoscaling struct {
	// minReplicas is the lowest number of replicas. Unset: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	MinReplicas *int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the highest number of replicas, at most 10.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	MaxReplicas int32 `json:"maxReplicas"`

	// targetCPUUtilizationPercentage is the CPU use to aim at, in percent of the requested CPU, from 1 to 9999.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	TargetCPUUtilizationPercentage *int32 `json:"targetCPUUtilizationPercentage,omitempty"`

	// targetMemoryUtilizationPercentage is the memory use to aim at, in percent of the requested memory, from 1 to 9999.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9999
	TargetMemoryUtilizationPercentage *int32 `json:"targetMemoryUtilizationPercentage,omitempty"`
}

// DisruptionBudget limits voluntary disruptions.
type DisruptionBudget struct {
	// maxUnavailable is how many Pods may be evicted at once: a number of Pods, at least 1, or a percentage above 0%.
	// +required
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="must be a number of at least 1, or a percentage from 1% to 100%"
	MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
}

// ServiceType says how the Service is reached.
//
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
type ServiceType string

// ServiceSettings adjust the Service.
type ServiceSettings struct {
	// type is ClusterIP, NodePort or LoadBalancer. Unset: ClusterIP.
	// +optional
	Type ServiceType `json:"type,omitempty"`

	// annotations are set on the Service, for example for a cloud load balancer. Others' annotations are left alone.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// IngressSettings publish the Service under a host name.
type IngressSettings struct {
	// host is the fully qualified host name, for example shop.example.com. The first label may be the wildcard *.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +kubebuilder:validation:XValidation:rule="!isIP(self)",message="must be a name, not an address"
	Host string `json:"host"`

	// path is the prefix of the URL paths that are routed here. It starts with /. Unset: /.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/`
	// +kubebuilder:validation:XValidation:rule="!self.matches('//|/[.][.]?/|/[.][.]?$|%2[fF]')",message="must not contain //, /./, /../ or %2f, and not end with /. or /.."
	Path string `json:"path,omitempty"`

	// className is the IngressClass that serves the host. Unset: the cluster's default class.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self).hasValue()",message="must be a DNS subdomain: lower case letters, digits, '-' and '.'"
	ClassName *string `json:"className,omitempty"`

	// tlsSecretName is the Secret of the same namespace with the host's certificate. Unset: no TLS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="must be a DNS subdomain: lower case letters, digits, '-' and '.'"
	TLSSecretName string `json:"tlsSecretName,omitempty"`

	// annotations are set on the Ingress. Others' annotations are left alone.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Phase sums the status up in one word.
//
// +kubebuilder:validation:Enum=Pending;Running;Failed
type Phase string

const (
	// PhasePending means that the current generation is not rolled out yet.
	PhasePending Phase = "Pending"

	// PhaseRunning means that the current generation is completely rolled out.
	PhaseRunning Phase = "Running"

	// PhaseFailed means that the operator cannot make the application available: the deadline has passed, Pods
	// cannot be created, or a child belongs to somebody else. The Ready condition says which.
	PhaseFailed Phase = "Failed"
)

// WebAppStatus is what the operator last observed.
type WebAppStatus struct {
	// observedGeneration is the metadata.generation that the status speaks of. -1: no status was written yet.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of Pods that are not terminating.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// updatedReplicas is the number of Pods that have the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// availableReplicas is the number of Pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// phase sums the status up: Pending, Running or Failed.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// lastUpdateTime is when another field of the status last changed.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// selector selects the Pods, in the form that the scale subresource and kubectl --selector take.
	// +optional
	Selector string `json:"selector,omitempty"`

	// url is where the application is reached: through the Ingress if there is one, else inside the cluster.
	// +optional
	URL string `json:"url,omitempty"`

	// conditions are the details: Ready, Available, Progressing, and Reconciling, Stalled or ConversionDegraded while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
