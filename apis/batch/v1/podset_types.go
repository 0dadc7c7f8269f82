package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// PodSet keeps a number of equal Pods running. It owns them directly.
//
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
// +kubebuilder:resource:shortName=ps,categories={all,workloads}
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.availableReplicas`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="oldSelf.hasValue() || size(self.metadata.name) <= 52",message="metadata.name must be at most 52 characters, so that the names of the Pods fit"
// +kubebuilder:validation:XValidation:optionalOldSelf=true,rule="oldSelf.hasValue() || !format.dns1123Label().validate(self.metadata.name).hasValue()",message="metadata.name must be a DNS label: lower case letters, digits and '-', no dots"
type PodSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the user asks for.
	// +required
	Spec PodSetSpec `json:"spec"`

	// status is what the operator last observed.
	// +optional
	// +kubebuilder:default={}
	Status PodSetStatus `json:"status,omitzero"`
}

// PodSetList is a list of PodSets.
//
// +kubebuilder:object:root=true
type PodSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodSet `json:"items"`
}

// PodSetSpec is what the user asks for.
type PodSetSpec struct {
	workloadv1.PodSettings `json:",inline"`

	// replicas is the desired number of Pods, at least 1. To run no Pods for a while, set suspend. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self != 0",message="zero replicas are not allowed: set spec.suspend to run no Pods"
	Replicas *int32 `json:"replicas,omitempty"`

	// ports are the ports that the container listens on, for information and for named references.
	// +optional
	// +listType=map
	// +listMapKey=containerPort
	// +listMapKey=protocol
	Ports []corev1.ContainerPort `json:"ports,omitempty"`

	// minReadySeconds is how long, in seconds, a Pod must be ready before it counts as available, at most 31536000
	// (a year). Unset: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	MinReadySeconds int32 `json:"minReadySeconds,omitempty"`

	// updateStrategy says how Pods are replaced when their template changes. Default: type RollingUpdate.
	// +optional
	// +kubebuilder:default={type: RollingUpdate}
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`

	// podReplacementPolicy says when a Pod that goes away is replaced. TerminatingOrFailed: as soon as it is
	// terminating or has failed. Failed: only once it is gone or has failed, so that never more than replicas Pods
	// exist. Unset: TerminatingOrFailed.
	// +optional
	PodReplacementPolicy PodReplacementPolicy `json:"podReplacementPolicy,omitempty"`

	// scaleDown says which Pods go first when replicas is lowered. Unset: policy Spread.
	// +optional
	ScaleDown *ScaleDown `json:"scaleDown,omitempty"`

	// failedPodsHistoryLimit is how many failed Pods are kept to look at; the oldest go first. Unset: 3. Zero: none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	FailedPodsHistoryLimit *int32 `json:"failedPodsHistoryLimit,omitempty"`

	// paused holds updates back: Pods keep their template while it is true. Scaling and healing go on.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// suspend runs no Pods while it is true. The value of replicas is kept.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// UpdateStrategyType says how Pods are replaced when their template changes.
//
// +kubebuilder:validation:Enum=RollingUpdate;InPlace;OnDelete
type UpdateStrategyType string

const (
	// RollingUpdateStrategy replaces Pods step by step.
	RollingUpdateStrategy UpdateStrategyType = "RollingUpdate"

	// InPlaceStrategy patches the image of running Pods if only the image changed, and replaces Pods otherwise.
	InPlaceStrategy UpdateStrategyType = "InPlace"

	// OnDeleteStrategy leaves running Pods alone: a Pod gets the new template when somebody deletes the old one.
	OnDeleteStrategy UpdateStrategyType = "OnDelete"
)

// UpdateStrategy says how Pods are replaced when their template changes.
type UpdateStrategy struct {
	// type is RollingUpdate, InPlace or OnDelete. Default: RollingUpdate.
	// +optional
	// +kubebuilder:default=RollingUpdate
	Type UpdateStrategyType `json:"type,omitempty"`

	// rollingUpdate sets the pace of types RollingUpdate and InPlace; OnDelete does not read it.
	// Unset: one Pod at a time, all Pods.
	// +optional
	RollingUpdate *RollingUpdate `json:"rollingUpdate,omitempty"`
}

// RollingUpdate sets the pace and the reach of an update.
type RollingUpdate struct {
	// maxUnavailable is how many Pods may be unavailable during the update: a number of Pods, at least 1, or a
	// percentage of replicas above 0%, rounded down but at least one Pod. Unset: 1.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? int(self) >= 1 : string(self).matches('^(100|[1-9][0-9]?)%$')",message="must be a number of at least 1, or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// partition is how many Pods stay at the old revision. Unset: 0, all Pods are updated.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Partition *int32 `json:"partition,omitempty"`
}

// PodReplacementPolicy says when a Pod that goes away is replaced.
//
// +kubebuilder:validation:Enum=TerminatingOrFailed;Failed
type PodReplacementPolicy string

const (
	// ReplaceTerminatingOrFailed replaces a Pod as soon as it is terminating or has failed.
	ReplaceTerminatingOrFailed PodReplacementPolicy = "TerminatingOrFailed"

	// ReplaceFailed replaces a Pod only once it is gone or has failed.
	ReplaceFailed PodReplacementPolicy = "Failed"
)

// ScaleDownPolicy says which Pods go first.
//
// +kubebuilder:validation:Enum=Spread;Newest
type ScaleDownPolicy string

const (
	// ScaleDownSpread takes Pods so that the others stay spread over zones and nodes.
	ScaleDownSpread ScaleDownPolicy = "Spread"

	// ScaleDownNewest takes the newest Pods.
	ScaleDownNewest ScaleDownPolicy = "Newest"
)

// ScaleDown says which Pods go first when replicas is lowered.
type ScaleDown struct {
	// policy is Spread or Newest. Unset: Spread.
	// +optional
	Policy ScaleDownPolicy `json:"policy,omitempty"`

	// preferDelete names Pods that go first. The operator reads it and never writes it; names that are no Pods of
	// this PodSet are ignored.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=253
	PreferDelete []string `json:"preferDelete,omitempty"`
}

// PodSetStatus is what the operator last observed.
type PodSetStatus struct {
	// observedGeneration is the metadata.generation that the status speaks of. -1: no status was written yet.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of Pods that are neither terminating nor finished.
	// +optional
	Replicas int32 `json:"replicas"`

	// readyReplicas is the number of Pods that are ready.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// availableReplicas is the number of Pods that have been ready for minReadySeconds.
	// +optional
	AvailableReplicas int32 `json:"availableReplicas"`

	// updatedReplicas is the number of Pods that have the current template.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas"`

	// terminatingReplicas is the number of Pods that are being deleted and still there.
	// +optional
	TerminatingReplicas int32 `json:"terminatingReplicas"`

	// failedReplicas is the number of failed Pods that are still there.
	// +optional
	FailedReplicas int32 `json:"failedReplicas"`

	// podNames are the names of the Pods that replicas counts, sorted, at most 100.
	// +optional
	// +listType=atomic
	PodNames []string `json:"podNames,omitempty"`

	// podNamesOmitted is how many names podNames leaves out.
	// +optional
	PodNamesOmitted int32 `json:"podNamesOmitted,omitempty"`

	// selector selects the Pods, in the form that the scale subresource and kubectl --selector take.
	// +optional
	Selector string `json:"selector,omitempty"`

	// currentRevision identifies the current template; Pods carry theirs in the label batch.example.com/revision.
	// +optional
	CurrentRevision string `json:"currentRevision,omitempty"`

	// conditions are the details: Ready, and Reconciling, Stalled, ReplicaFailure or ConversionDegraded while true.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
