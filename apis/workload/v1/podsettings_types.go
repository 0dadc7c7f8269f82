package v1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodSettings are the fields of a spec that describe its Pods. WebApp and PodSet embed them, so both have the same
// fields, bounds and rules.
//
// The rule on volumeMounts ratchets: a mount that was already there and already wrong does not block other changes.
//
// +kubebuilder:validation:XValidation:fieldPath=".volumeMounts",reason=FieldValueInvalid,optionalOldSelf=true,rule="!has(self.volumeMounts) || self.volumeMounts.all(m, (has(self.volumes) && self.volumes.exists(v, v.name == m.name)) || (oldSelf.hasValue() && has(oldSelf.value().volumeMounts) && oldSelf.value().volumeMounts.exists(o, o.mountPath == m.mountPath && o.name == m.name) && !(has(oldSelf.value().volumes) && oldSelf.value().volumes.exists(v, v.name == m.name))))",message="each mount must name a volume of spec.volumes"
type PodSettings struct {
	// image is the container image to run, as a reference: repository, with an optional registry, tag and digest.
	// Example: registry.example.com/shop/web:1.25. At most 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Image string `json:"image"`

	// imagePullPolicy says when the image is pulled: Always, IfNotPresent or Never.
	// Unset: Always for the tag latest or no tag, else IfNotPresent.
	// +optional
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`

	// imagePullSecrets name Secrets of the same namespace that hold credentials for the image's registry.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`

	// command replaces the entrypoint of the image. Unset: the image's own entrypoint.
	// +optional
	// +listType=atomic
	Command []string `json:"command,omitempty"`

	// args are the arguments of the command. Unset: the image's own arguments.
	// +optional
	// +listType=atomic
	Args []string `json:"args,omitempty"`

	// env are the environment variables of the container. Names are unique; order matters where one refers to another.
	// +optional
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`

	// envFrom adds every key of the named ConfigMaps and Secrets to the environment. env wins over envFrom.
	// +optional
	// +listType=atomic
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`

	// resources are the compute resources of the container. Unset: none requested, none limited.
	// +optional
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(r, !has(self.limits) || !has(self.requests) || !(r in self.limits) || !(r in self.requests) || [string(self.limits[r]), string(self.requests[r])].exists(q, q.matches('[eE][+-]?[0-9]{3}')) || quantity(string(self.limits[r])).compareTo(quantity(string(self.requests[r]))) >= 0)",message="a limit must not be below its request"
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'ephemeral-storage'].all(r, (!has(self.limits) || !(r in self.limits) || !string(self.limits[r]).matches('^-[0.]*[1-9]')) && (!has(self.requests) || !(r in self.requests) || !string(self.requests[r]).matches('^-[0.]*[1-9]')))",message="quantities must not be negative"
	Resources corev1.ResourceRequirements `json:"resources,omitzero"`

	// probes tell the platform when the container has started, can serve, and must be restarted. Unset: no probes.
	// +optional
	Probes *Probes `json:"probes,omitempty"`

	// volumes can be mounted into the container. Names are unique. Volumes of the host are not offered.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Volumes []Volume `json:"volumes,omitempty"`

	// volumeMounts place volumes into the container's file system. Each names an entry of volumes.
	// +optional
	// +listType=map
	// +listMapKey=mountPath
	// +kubebuilder:validation:MaxItems=128
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`

	// serviceAccountName is the ServiceAccount of the same namespace that the Pods run as. Unset: default.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || !format.dns1123Subdomain().validate(self).hasValue()",message="must be a DNS subdomain: lower case letters, digits, '-' and '.'"
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// automountServiceAccountToken mounts a token of the service account into the Pods. Unset or false: not mounted.
	// +optional
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty"`

	// podSecurityContext holds security settings of the whole Pod.
	// Unset: the seccomp profile RuntimeDefault.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`

	// securityContext holds security settings of the container.
	// Unset: privilege escalation is not allowed.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`

	// podLabels are added to the labels of the Pods. Keys under app.example.com/, batch.example.com/ and
	// workload.example.com/, and the key podset-name, are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'podset-name' || k.startsWith('app.example.com/') || k.startsWith('batch.example.com/') || k.startsWith('workload.example.com/'))",message="keys under app.example.com/, batch.example.com/ and workload.example.com/, and podset-name, are reserved"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// podAnnotations are added to the annotations of the Pods. The same keys are reserved as for podLabels.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(k, k == 'podset-name' || k.startsWith('app.example.com/') || k.startsWith('batch.example.com/') || k.startsWith('workload.example.com/'))",message="keys under app.example.com/, batch.example.com/ and workload.example.com/, and podset-name, are reserved"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`

	// nodeSelector restricts the Pods to nodes that have all these labels.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations let the Pods run on nodes with matching taints.
	// +optional
	// +listType=atomic
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// affinity attracts the Pods to, or keeps them from, nodes and other Pods.
	// +optional
	Affinity *corev1.Affinity `json:"affinity,omitempty"`

	// topologySpreadConstraints spread the Pods over zones, nodes or other domains. A constraint without a
	// labelSelector selects the Pods of this object.
	// +optional
	// +listType=map
	// +listMapKey=topologyKey
	// +listMapKey=whenUnsatisfiable
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`

	// terminationGracePeriodSeconds is how long, in seconds, a Pod may take to stop before it is killed.
	// Unset: 30. Zero: killed at once.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TerminationGracePeriodSeconds *int64 `json:"terminationGracePeriodSeconds,omitempty"`
}

// Probes are the health checks of the container. A probe has exactly one handler: exec, httpGet, tcpSocket or grpc.
type Probes struct {
	// startup holds the other probes back until it has succeeded once. Unset: the container counts as started at once.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.httpGet), has(self.tcpSocket), has(self.grpc)].filter(h, h).size() == 1",message="exactly one of exec, httpGet, tcpSocket and grpc must be set"
	// +kubebuilder:validation:XValidation:rule="(!has(self.initialDelaySeconds) || self.initialDelaySeconds >= 0) && (!has(self.timeoutSeconds) || self.timeoutSeconds >= 0) && (!has(self.failureThreshold) || self.failureThreshold >= 0) && (!has(self.periodSeconds) || (self.periodSeconds >= 0 && self.periodSeconds <= 31536000))",message="seconds and thresholds must not be negative, and periodSeconds at most 31536000 (a year)"
	// +kubebuilder:validation:XValidation:rule="!has(self.successThreshold) || self.successThreshold in [0, 1]",message="successThreshold of a startup probe must be 1"
	// +kubebuilder:validation:XValidation:rule="!has(self.terminationGracePeriodSeconds) || self.terminationGracePeriodSeconds > 0",message="terminationGracePeriodSeconds must be greater than 0"
	Startup *corev1.Probe `json:"startup,omitempty"`

	// readiness decides whether a Pod gets traffic. Unset: a Pod gets traffic as soon as its container runs.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.httpGet), has(self.tcpSocket), has(self.grpc)].filter(h, h).size() == 1",message="exactly one of exec, httpGet, tcpSocket and grpc must be set"
	// +kubebuilder:validation:XValidation:rule="(!has(self.initialDelaySeconds) || self.initialDelaySeconds >= 0) && (!has(self.timeoutSeconds) || self.timeoutSeconds >= 0) && (!has(self.failureThreshold) || self.failureThreshold >= 0) && (!has(self.successThreshold) || self.successThreshold >= 0) && (!has(self.periodSeconds) || (self.periodSeconds >= 0 && self.periodSeconds <= 31536000))",message="seconds and thresholds must not be negative, and periodSeconds at most 31536000 (a year)"
	// +kubebuilder:validation:XValidation:rule="!has(self.terminationGracePeriodSeconds)",message="terminationGracePeriodSeconds must not be set on a readiness probe"
	Readiness *corev1.Probe `json:"readiness,omitempty"`

	// liveness restarts the container when it fails. Unset: the container is restarted only when it exits.
	// +optional
	// +kubebuilder:validation:XValidation:rule="[has(self.exec), has(self.httpGet), has(self.tcpSocket), has(self.grpc)].filter(h, h).size() == 1",message="exactly one of exec, httpGet, tcpSocket and grpc must be set"
	// +kubebuilder:validation:XValidation:rule="(!has(self.initialDelaySeconds) || self.initialDelaySeconds >= 0) && (!has(self.timeoutSeconds) || self.timeoutSeconds >= 0) && (!has(self.failureThreshold) || self.failureThreshold >= 0) && (!has(self.periodSeconds) || (self.periodSeconds >= 0 && self.periodSeconds <= 31536000))",message="seconds and thresholds must not be negative, and periodSeconds at most 31536000 (a year)"
	// +kubebuilder:validation:XValidation:rule="!has(self.successThreshold) || self.successThreshold in [0, 1]",message="successThreshold of a liveness probe must be 1"
	// +kubebuilder:validation:XValidation:rule="!has(self.terminationGracePeriodSeconds) || self.terminationGracePeriodSeconds > 0",message="terminationGracePeriodSeconds must be greater than 0"
	Liveness *corev1.Probe `json:"liveness,omitempty"`
}

// Volume is a named source of files. Exactly one source is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMap), has(self.secret), has(self.emptyDir), has(self.persistentVolumeClaim)].filter(s, s).size() == 1",message="exactly one of configMap, secret, emptyDir and persistentVolumeClaim must be set"
type Volume struct {
	// name identifies the volume in volumeMounts. A DNS label, at most 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// configMap fills the volume with the keys of a ConfigMap.
	// +optional
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`

	// secret fills the volume with the keys of a Secret.
	// +optional
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`

	// emptyDir is an empty directory that lives as long as the Pod.
	// +optional
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`

	// persistentVolumeClaim mounts a claim of the same namespace.
	// +optional
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
}
