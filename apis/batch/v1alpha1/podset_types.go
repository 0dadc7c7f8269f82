package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodSet keeps a number of equal Pods running. This is the older view of batch.example.com/v1; fields that only v1 has
// are kept while an object is read and written through this version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=ps,categories={all,workloads}
// +kubebuilder:deprecatedversion:warning="batch.example.com/v1alpha1 PodSet is deprecated; use batch.example.com/v1: workloadctl convert -f FILE --to batch.example.com/v1"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Size",type=integer,JSONPath=`.spec.size`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.ready`
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
	// size is the desired number of Pods, at least 1. To run no Pods for a while, set spec.suspend in
	// batch.example.com/v1. Default: 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self != 0",message="zero size is not allowed: set suspend in batch.example.com/v1 to run no Pods"
	Size *int32 `json:"size,omitempty"`

	// container is the one container of every Pod.
	// +required
	Container Container `json:"container"`

	// readyAfter is how long a Pod must be ready before it counts as available: a whole number and s, m or h, at most a
	// year. Example: "30s". Unset: at once.
	// +optional
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:Pattern=`^([0-9]{1,8}s|[0-9]{1,6}m|[0-9]{1,4}h)$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+[smh]$') || duration(self) <= duration('8760h')",message="must be at most a year (8760h)"
	ReadyAfter string `json:"readyAfter,omitempty"`

	// hold keeps Pods at their template while it is true. Scaling and healing go on.
	// +optional
	Hold bool `json:"hold,omitempty"`

	// updatePolicy says how Pods are replaced when their template changes: Recreate replaces them step by step, InPlace
	// patches the image where only that changed, Manual leaves them until somebody deletes them. Default: Recreate.
	// +optional
	// +kubebuilder:default=Recreate
	UpdatePolicy UpdatePolicy `json:"updatePolicy,omitempty"`

	// description says what the Pods are for, in at most 4096 characters. In batch.example.com/v1 it is the annotation
	// batch.example.com/description.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Description *string `json:"description,omitempty"`
}

// UpdatePolicy says how Pods are replaced when their template changes.
//
// +kubebuilder:validation:Enum=Recreate;InPlace;Manual
type UpdatePolicy string

// Container is the one container of every Pod.
type Container struct {
	// image is the container image to run, as a reference. At most 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image"`

	// command replaces the entrypoint of the image. Unset: the image's own entrypoint.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`

	// args are the arguments of the command. Unset: the image's own arguments.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// env are the environment variables of the container, by name. Variables that take their value from elsewhere, and
	// the order of variables, are only in batch.example.com/v1 and are kept.
	// +optional
	Env map[string]string `json:"env,omitempty"`

	// resources are the compute resources of the container. Unset: none requested, none limited.
	// +optional
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(r, !has(self.limits) || !has(self.requests) || !(r in self.limits) || !(r in self.requests) || [string(self.limits[r]), string(self.requests[r])].exists(q, q.matches('[eE][+-]?[0-9]{3}')) || quantity(string(self.limits[r])).compareTo(quantity(string(self.requests[r]))) >= 0)",message="a limit must not be below its request"
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(r, (!has(self.limits) || !(r in self.limits) || !string(self.limits[r]).matches('^-[0.]*[1-9]')) && (!has(self.requests) || !(r in self.requests) || !string(self.requests[r]).matches('^-[0.]*[1-9]')))",message="quantities must not be negative"
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`
}

// PodName names a Pod.
type PodName struct {
	// name of the Pod.
	// +optional
	Name string `json:"name,omitempty"`
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

	// ready is the number of Pods that are ready.
	// +optional
	Ready int32 `json:"ready"`

	// availableReplicas is the number of Pods that have been ready for readyAfter.
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

	// pods are the Pods that replicas counts, sorted by name, at most 100.
	// +optional
	// +listType=atomic
	Pods []PodName `json:"pods,omitempty"`

	// podNamesOmitted is how many Pods the list leaves out.
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
