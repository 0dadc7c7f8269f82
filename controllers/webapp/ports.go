package webapp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// portsClash recognises the refusal of a Service or Deployment whose ports would contradict each other.
func portsClash(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		inTemplate := strings.HasPrefix(cause.Field, "spec.template.spec.containers[") && strings.Contains(cause.Field, "].ports")
		if inTemplate || strings.HasPrefix(cause.Field, "spec.ports") {
			return true
		}
	}
	return false
}

// replacePorts sets the ports of a child as a whole. Ports are a list by number, so an apply adds to a port that somebody
// else renumbered, or also owns since a restore, instead of replacing it, and two ports of one name are refused. The next
// pass applies as usual.
func (r *Reconciler) replacePorts(ctx context.Context, s step) error {
	patch := map[string]any{"metadata": map[string]any{"uid": s.live.GetUID(), "resourceVersion": s.live.GetResourceVersion()}}
	kind := types.MergePatchType
	switch want := s.config.(type) {
	case *applycorev1.ServiceApplyConfiguration:
		patch["spec"] = map[string]any{"ports": want.Spec.Ports}
	case *applyappsv1.DeploymentApplyConfiguration:
		kind = types.StrategicMergePatchType
		patch["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containersWithPorts(want)}}}
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	s.blank.SetNamespace(s.live.GetNamespace())
	s.blank.SetName(s.name)
	return r.client.Patch(ctx, s.blank, client.RawPatch(kind, data), client.FieldOwner(workloadv1.FieldManager))
}

// containersWithPorts are the containers of a Deployment with nothing but their ports, in the form that makes a strategic
// merge patch replace the list instead of merging it.
func containersWithPorts(want *applyappsv1.DeploymentApplyConfiguration) []any {
	var containers []any
	for _, c := range want.Spec.Template.Spec.Containers {
		ports := []any{map[string]string{"$patch": "replace"}}
		for i := range c.Ports {
			ports = append(ports, &c.Ports[i])
		}
		containers = append(containers, map[string]any{"name": c.Name, "ports": ports})
	}
	return containers
}
