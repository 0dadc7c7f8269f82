package podtemplate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// Options are what a controller adds to the settings of the user.
type Options struct {
	// Labels are set on the Pods. They win over the user's podLabels.
	Labels map[string]string

	// Selector selects the Pods of the owner. It completes topologySpreadConstraints without a labelSelector.
	Selector map[string]string

	// Ports are the ports of the container.
	Ports []corev1.ContainerPort
}

// Build returns the template of the Pods that settings ask for.
//
// Where the user set nothing, the Pod gets what every image can be expected to bear: the seccomp profile RuntimeDefault,
// no privilege escalation and no service-account token. It fails only if a value of settings cannot be encoded, which a
// value that came from the API server always can.
func Build(settings *workloadv1.PodSettings, o Options) (*applycorev1.PodTemplateSpecApplyConfiguration, error) {
	labels := maps.Clone(settings.PodLabels)
	if labels == nil {
		labels = make(map[string]string, len(o.Labels))
	}
	maps.Copy(labels, o.Labels)

	spec, err := podSpec(settings, o)
	if err != nil {
		return nil, fmt.Errorf("building the Pod template: %w", err)
	}
	template := applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(spec)
	if len(settings.PodAnnotations) > 0 {
		template.WithAnnotations(settings.PodAnnotations)
	}
	return template, nil
}

// Pod returns the template as a Pod object, for controllers that create Pods themselves.
func Pod(template *applycorev1.PodTemplateSpecApplyConfiguration) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := transcode(template, pod); err != nil {
		return nil, fmt.Errorf("building a Pod from its template: %w", err)
	}
	return pod, nil
}

func podSpec(s *workloadv1.PodSettings, o Options) (*applycorev1.PodSpecApplyConfiguration, error) {
	// The parts below are core types on both sides, so their JSON is the same.
	native := corev1.PodSpec{
		NodeSelector:                  s.NodeSelector,
		Tolerations:                   s.Tolerations,
		Affinity:                      s.Affinity,
		TopologySpreadConstraints:     spreadConstraints(s.TopologySpreadConstraints, o.Selector),
		TerminationGracePeriodSeconds: s.TerminationGracePeriodSeconds,
		ImagePullSecrets:              s.ImagePullSecrets,
		ServiceAccountName:            s.ServiceAccountName,
		SecurityContext:               podSecurityContext(s.PodSecurityContext),
		Volumes:                       volumes(s.Volumes),
	}
	spec := applycorev1.PodSpec()
	if err := transcode(native, spec); err != nil {
		return nil, err
	}
	container, err := container(s, o.Ports)
	if err != nil {
		return nil, err
	}
	return spec.
		WithAutomountServiceAccountToken(s.AutomountServiceAccountToken != nil && *s.AutomountServiceAccountToken).
		WithContainers(container), nil
}

func container(s *workloadv1.PodSettings, ports []corev1.ContainerPort) (*applycorev1.ContainerApplyConfiguration, error) {
	native := corev1.Container{
		Image:           s.Image,
		ImagePullPolicy: s.ImagePullPolicy,
		Command:         s.Command,
		Args:            s.Args,
		Env:             s.Env,
		EnvFrom:         s.EnvFrom,
		Ports:           ports,
		Resources:       s.Resources,
		VolumeMounts:    s.VolumeMounts,
		SecurityContext: securityContext(s.SecurityContext),
	}
	if p := s.Probes; p != nil {
		native.StartupProbe, native.ReadinessProbe, native.LivenessProbe = p.Startup, withPort(p.Readiness, ports), p.Liveness
	}
	container := applycorev1.Container()
	if err := transcode(native, container); err != nil {
		return nil, err
	}
	if len(s.Resources.Limits)+len(s.Resources.Requests)+len(s.Resources.Claims) == 0 {
		container.Resources = nil
	}
	return container.WithName(workloadv1.ContainerName), nil
}

// withPort completes a probe over HTTP that names no port: it asks the first port of the container. Admission fills it in too,
// but an object of an older version may have been stored before the webhooks were there.
func withPort(probe *corev1.Probe, ports []corev1.ContainerPort) *corev1.Probe {
	if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Port != (intstr.IntOrString{}) || len(ports) == 0 {
		return probe
	}
	probe = probe.DeepCopy()
	probe.HTTPGet.Port = intstr.FromInt32(ports[0].ContainerPort)
	return probe
}

// podSecurityContext completes what the user set; a seccomp profile of the user's choice stays.
func podSecurityContext(c *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	if c == nil {
		c = &corev1.PodSecurityContext{}
	}
	c = c.DeepCopy()
	if c.SeccompProfile == nil {
		c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return c
}

// securityContext completes what the user set, except where Kubernetes refuses the combination.
func securityContext(c *corev1.SecurityContext) *corev1.SecurityContext {
	if c == nil {
		c = &corev1.SecurityContext{}
	}
	c = c.DeepCopy()
	if c.AllowPrivilegeEscalation == nil && !needsPrivilegeEscalation(c) {
		c.AllowPrivilegeEscalation = new(false)
	}
	return c
}

func needsPrivilegeEscalation(c *corev1.SecurityContext) bool {
	if c.Privileged != nil && *c.Privileged {
		return true
	}
	return c.Capabilities != nil && slices.Contains(c.Capabilities.Add, "CAP_SYS_ADMIN")
}

// spreadConstraints makes constraints that select nothing select the Pods of the owner.
func spreadConstraints(in []corev1.TopologySpreadConstraint, selector map[string]string) []corev1.TopologySpreadConstraint {
	out := slices.Clone(in)
	for i := range out {
		if out[i].LabelSelector == nil {
			out[i].LabelSelector = &metav1.LabelSelector{MatchLabels: selector}
		}
	}
	return out
}

func volumes(in []workloadv1.Volume) []corev1.Volume {
	var out []corev1.Volume
	for _, v := range in {
		out = append(out, corev1.Volume{Name: v.Name, VolumeSource: corev1.VolumeSource{
			ConfigMap:             v.ConfigMap,
			Secret:                v.Secret,
			EmptyDir:              v.EmptyDir,
			PersistentVolumeClaim: v.PersistentVolumeClaim,
		}})
	}
	return out
}

// transcode copies a value into another type that has the same JSON form.
func transcode(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}
