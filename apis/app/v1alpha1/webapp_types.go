package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebApp runs a web application: a Deployment and a Service. This is the older view of app.example.com/v1; fields that
// only v1 has are kept while an object is read and written through this version.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=wa,categories={all,workloads}
// +kubebuilder:deprecatedversion:warning="app.example.com/v1alpha1 WebApp is deprecated; use app.example.com/v1: workloadctl convert -f FILE --to app.example.com/v1"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.scale.instances,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:printcolumn:name="Image",type=string,JSONPath=`.spec.image.repository`
// +kubebuilder:printcolumn:name="Tag",type=string,JSONPath=`.spec.image.tag`
// +kubebuilder:printcolumn:name="Instances",type=integer,JSONPath=`.spec.scale.instances`
// +kubebuilder:printcolumn:name="Available",type=integer,JSONPath=`.status.available`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
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
type WebAppSpec struct {
	// image is the container image to run, in parts.
	// +required
	Image Image `json:"image"`

	// scale sets how many Pods run. Default: one.
	// +optional
	// +kubebuilder:default={instances: 1}
	Scale *Scale `json:"scale,omitempty"`

	// expose sets the ports. Default: port 80.
	// +optional
	// +kubebuilder:default={port: 80}
	Expose *Expose `json:"expose,omitempty"`

	// env are the environment variables of the container, by name. Variables that take their value from elsewhere, and
	// the order of variables, are only in app.example.com/v1 and are kept.
	// +optional
	Env map[string]string `json:"env,omitempty"`

	// resources are the compute resources requested for the container. Unset: none.
	// +optional
	Resources *Resources `json:"resources,omitempty"`

	// healthCheck asks the container over HTTP whether it can serve. Unset: a Pod gets traffic as soon as it runs.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`

	// disableTokenMount keeps the token of the service account out of the Pods. Unset or true: not mounted.
	// False: mounted.
	// +optional
	DisableTokenMount *bool `json:"disableTokenMount,omitempty"`
}

// Image is a container image in parts: repository[:tag][@digest].
//
// +kubebuilder:validation:XValidation:rule="size(self.repository) + (has(self.tag) ? size(self.tag) + 1 : 0) + (has(self.digest) ? size(self.digest) + 1 : 0) <= 1024",message="the image reference must be at most 1024 characters"
type Image struct {
	// repository is the image without tag and digest, with an optional registry. Example: registry.example.com/shop/web.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Repository string `json:"repository"`

	// tag is the version of the image. Unset: the registry's latest, unless digest is set.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Tag string `json:"tag,omitempty"`

	// digest pins the exact content, with its algorithm: sha256: and 64 hexadecimal digits. It wins over tag.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Digest string `json:"digest,omitempty"`

	// pullPolicy says when the image is pulled: Always, IfNotPresent or Never.
	// Unset: Always for the tag latest or no tag, else IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	PullPolicy corev1.PullPolicy `json:"pullPolicy,omitempty"`
}

// Scale sets how many Pods run. With max, an autoscaler sets instances between min and max.
//
// The rules ratchet, because instances is in the same struct: what was wrong before must not keep anybody from scaling.
//
// +kubebuilder:validation:XValidation:fieldPath=".max",optionalOldSelf=true,rule="has(self.max) || (!has(self.min) && !has(self.targetCPU)) || (oldSelf.hasValue() && !has(oldSelf.value().max) && (has(oldSelf.value().min) || has(oldSelf.value().targetCPU)))",message="max is required when min or targetCPU is set"
// +kubebuilder:validation:XValidation:fieldPath=".min",optionalOldSelf=true,rule="!has(self.min) || !has(self.max) || self.min <= self.max || (oldSelf.hasValue() && has(oldSelf.value().min) && has(oldSelf.value().max) && oldSelf.value().min > oldSelf.value().max)",message="min must not be above max"
type Scale struct {
	// instances is the desired number of Pods, from 1 to 10. To run no Pods for a while, set spec.suspend in
	// app.example.com/v1. Default: 1. With max, the autoscaler sets it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +kubebuilder:validation:XValidation:rule="self != 0",message="zero instances are not allowed: set suspend in app.example.com/v1 to run no Pods"
	Instances *int32 `json:"instances,omitempty"`

	// min is the lowest number of instances that the autoscaler sets. Unset: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Min *int32 `json:"min,omitempty"`

	// max is the highest number of instances that the autoscaler sets, at most 10. Unset: no autoscaler.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	Max *int32 `json:"max,omitempty"`

	// targetCPU is the CPU use to aim at, in percent of the requested CPU. Example: "80%", which is also what an
	// autoscaler without any target aims at.
	// +optional
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,3}%$`
	TargetCPU string `json:"targetCPU,omitempty"`
}

// Expose sets the ports.
type Expose struct {
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
}

// Resources are the compute resources requested for the container.
type Resources struct {
	// cpu is the requested CPU, in cores. Example: 250m.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^-[0.]*[1-9]')",message="must not be negative"
	CPU *resource.Quantity `json:"cpu,omitempty"`

	// memory is the requested memory, in bytes. Example: 64Mi.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!string(self).matches('^-[0.]*[1-9]')",message="must not be negative"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// HealthCheck asks the container over HTTP, on its target port, whether it can serve.
type HealthCheck struct {
	// path is the URL path to ask, for example /healthz. Required, unless app.example.com/v1 holds a readiness probe
	// that is not HTTP: then this view shows only its interval.
	// +optional
	Path string `json:"path,omitempty"`

	// interval is the time between two checks: a whole number and s, m or h, at most a year. Example: "10s", which is
	// also the interval if unset.
	// +optional
	// +kubebuilder:validation:MaxLength=9
	// +kubebuilder:validation:Pattern=`^([0-9]{1,8}s|[0-9]{1,6}m|[0-9]{1,4}h)$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]+[smh]$') || duration(self) <= duration('8760h')",message="must be at most a year (8760h)"
	Interval string `json:"interval,omitempty"`
}

// State sums the status up in one word.
//
// +kubebuilder:validation:Enum=pending;running;failed
type State string

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

	// available is the number of Pods that have been ready long enough to count as available.
	// +optional
	Available int32 `json:"available"`

	// state sums the status up: pending, running or failed.
	// +optional
	State State `json:"state,omitempty"`

	// updatedAt is when another field of the status last changed.
	// +optional
	UpdatedAt *metav1.Time `json:"updatedAt,omitempty"`

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
