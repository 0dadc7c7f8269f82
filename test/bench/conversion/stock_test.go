package conversion_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	stock "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	appv1alpha1 "github.com/example/workload-operator/apis/app/v1alpha1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// stockHandler is controller-runtime's handler with conversion between Go structs as one writes it by hand: the yardstick for
// speed, and for the answer wherever structs lose nothing.
func stockHandler(t testing.TB) http.Handler {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appv1.AddToScheme, appv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	registry := stock.NewRegistry()
	if err := registry.RegisterConverter(schema.GroupKind{Group: appv1.GroupVersion.Group, Kind: "WebApp"}, structs{}); err != nil {
		t.Fatal(err)
	}
	return stock.NewWebhookHandler(scheme, registry)
}

// structs converts WebApps between structs. Fields that only v1 has are kept as one marshalled spec.
type structs struct{}

func (structs) ConvertObject(_ context.Context, src, dst runtime.Object) error {
	switch src := src.(type) {
	case *appv1.WebApp:
		return structDown(src, dst.(*appv1alpha1.WebApp))
	case *appv1alpha1.WebApp:
		return structUp(src, dst.(*appv1.WebApp))
	}
	return fmt.Errorf("unknown type %T", src)
}

func structDown(src *appv1.WebApp, dst *appv1alpha1.WebApp) error {
	dst.ObjectMeta = src.ObjectMeta
	rest := *src.Spec.DeepCopy()
	dst.Spec.Image = imageOf(src.Spec.Image)
	dst.Spec.Image.PullPolicy = src.Spec.ImagePullPolicy
	rest.Image, rest.ImagePullPolicy = "", ""
	scale := appv1alpha1.Scale{Instances: src.Spec.Replicas}
	rest.Replicas = nil
	if a := rest.Autoscaling; a != nil {
		scale.Min, scale.Max = a.MinReplicas, &src.Spec.Autoscaling.MaxReplicas
		if a.TargetCPUUtilizationPercentage != nil {
			scale.TargetCPU = strconv.Itoa(int(*a.TargetCPUUtilizationPercentage)) + "%"
		}
		a.MinReplicas, a.MaxReplicas, a.TargetCPUUtilizationPercentage = nil, 0, nil
	}
	dst.Spec.Scale = &scale
	dst.Spec.Expose = &appv1alpha1.Expose{Port: src.Spec.Port, TargetPort: src.Spec.TargetPort}
	rest.Port, rest.TargetPort = 0, nil
	for i, variable := range rest.Env {
		if variable.ValueFrom == nil {
			if dst.Spec.Env == nil {
				dst.Spec.Env = map[string]string{}
			}
			dst.Spec.Env[variable.Name] = variable.Value
			rest.Env[i].Value = ""
		}
	}
	structResourcesDown(&rest, dst)
	if p := rest.Probes; p != nil && p.Readiness != nil && p.Readiness.HTTPGet != nil {
		dst.Spec.HealthCheck = &appv1alpha1.HealthCheck{Path: p.Readiness.HTTPGet.Path, Interval: strconv.Itoa(int(p.Readiness.PeriodSeconds)) + "s"}
		p.Readiness.HTTPGet.Path, p.Readiness.PeriodSeconds = "", 0
	}
	if mount := src.Spec.AutomountServiceAccountToken; mount != nil {
		dst.Spec.DisableTokenMount = new(!*mount)
		rest.AutomountServiceAccountToken = nil
	}
	s := src.Status
	dst.Status = appv1alpha1.WebAppStatus{ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, ReadyReplicas: s.ReadyReplicas,
		UpdatedReplicas: s.UpdatedReplicas, Available: s.AvailableReplicas, State: appv1alpha1.State(strings.ToLower(string(s.Phase))),
		UpdatedAt: s.LastUpdateTime, Selector: s.Selector, URL: s.URL, Conditions: s.Conditions}
	kept, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	dst.Annotations = maps.Clone(src.Annotations)
	if dst.Annotations == nil {
		dst.Annotations = map[string]string{}
	}
	dst.Annotations[workloadv1.AnnotationV1Fields] = string(kept)
	return nil
}

// imageOf takes an image reference apart.
func imageOf(reference string) (image appv1alpha1.Image) {
	reference, image.Digest, _ = strings.Cut(reference, "@")
	image.Repository = reference
	if colon := strings.LastIndexByte(reference, ':'); colon > strings.LastIndexByte(reference, '/') {
		image.Repository, image.Tag = reference[:colon], reference[colon+1:]
	}
	return image
}

func structResourcesDown(rest *appv1.WebAppSpec, dst *appv1alpha1.WebApp) {
	for name, quantity := range rest.Resources.Requests {
		if dst.Spec.Resources == nil {
			dst.Spec.Resources = &appv1alpha1.Resources{}
		}
		switch name {
		case corev1.ResourceCPU:
			dst.Spec.Resources.CPU = &quantity
		case corev1.ResourceMemory:
			dst.Spec.Resources.Memory = &quantity
		}
	}
	delete(rest.Resources.Requests, corev1.ResourceCPU)
	delete(rest.Resources.Requests, corev1.ResourceMemory)
}

func structUp(src *appv1alpha1.WebApp, dst *appv1.WebApp) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Annotations = maps.Clone(src.Annotations)
	if kept, ok := dst.Annotations[workloadv1.AnnotationV1Fields]; ok {
		if err := json.Unmarshal([]byte(kept), &dst.Spec); err != nil {
			return err
		}
		delete(dst.Annotations, workloadv1.AnnotationV1Fields)
	}
	image := src.Spec.Image
	dst.Spec.Image = image.Repository
	if image.Tag != "" {
		dst.Spec.Image += ":" + image.Tag
	}
	if image.Digest != "" {
		dst.Spec.Image += "@" + image.Digest
	}
	dst.Spec.ImagePullPolicy = image.PullPolicy
	if err := structScaleUp(src, dst); err != nil {
		return err
	}
	if expose := src.Spec.Expose; expose != nil {
		dst.Spec.Port, dst.Spec.TargetPort = expose.Port, expose.TargetPort
	}
	structEnvUp(src, dst)
	if r := src.Spec.Resources; r != nil {
		if dst.Spec.Resources.Requests == nil {
			dst.Spec.Resources.Requests = corev1.ResourceList{}
		}
		if r.CPU != nil {
			dst.Spec.Resources.Requests[corev1.ResourceCPU] = *r.CPU
		}
		if r.Memory != nil {
			dst.Spec.Resources.Requests[corev1.ResourceMemory] = *r.Memory
		}
	}
	if check := src.Spec.HealthCheck; check != nil {
		if dst.Spec.Probes == nil {
			dst.Spec.Probes = &workloadv1.Probes{}
		}
		if dst.Spec.Probes.Readiness == nil {
			dst.Spec.Probes.Readiness = &corev1.Probe{}
		}
		readiness := dst.Spec.Probes.Readiness
		if readiness.HTTPGet == nil {
			readiness.HTTPGet = &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}
		}
		readiness.HTTPGet.Path = check.Path
		period, err := strconv.Atoi(strings.TrimSuffix(check.Interval, "s"))
		if err != nil {
			return err
		}
		readiness.PeriodSeconds = int32(period)
	}
	if disable := src.Spec.DisableTokenMount; disable != nil {
		dst.Spec.AutomountServiceAccountToken = new(!*disable)
	}
	s := src.Status
	dst.Status = appv1.WebAppStatus{ObservedGeneration: s.ObservedGeneration, Replicas: s.Replicas, ReadyReplicas: s.ReadyReplicas,
		UpdatedReplicas: s.UpdatedReplicas, AvailableReplicas: s.Available, LastUpdateTime: s.UpdatedAt, Selector: s.Selector, URL: s.URL, Conditions: s.Conditions}
	if state := string(s.State); state != "" {
		dst.Status.Phase = appv1.Phase(strings.ToUpper(state[:1]) + state[1:])
	}
	return nil
}

func structScaleUp(src *appv1alpha1.WebApp, dst *appv1.WebApp) error {
	scale := src.Spec.Scale
	if scale == nil {
		return nil
	}
	dst.Spec.Replicas = scale.Instances
	if scale.Min == nil && scale.Max == nil && scale.TargetCPU == "" {
		return nil
	}
	if dst.Spec.Autoscaling == nil {
		dst.Spec.Autoscaling = &appv1.Autoscaling{}
	}
	dst.Spec.Autoscaling.MinReplicas = scale.Min
	if scale.Max != nil {
		dst.Spec.Autoscaling.MaxReplicas = *scale.Max
	}
	if scale.TargetCPU != "" {
		target, err := strconv.Atoi(strings.TrimSuffix(scale.TargetCPU, "%"))
		if err != nil {
			return err
		}
		dst.Spec.Autoscaling.TargetCPUUtilizationPercentage = new(int32(target))
	}
	return nil
}

func structEnvUp(src *appv1alpha1.WebApp, dst *appv1.WebApp) {
	seen := map[string]bool{}
	for i, variable := range dst.Spec.Env {
		seen[variable.Name] = true
		if value, ok := src.Spec.Env[variable.Name]; ok {
			dst.Spec.Env[i].Value = value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(src.Spec.Env)) {
		if !seen[name] {
			dst.Spec.Env = append(dst.Spec.Env, corev1.EnvVar{Name: name, Value: src.Spec.Env[name]})
		}
	}
}
