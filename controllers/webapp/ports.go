package webapp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// portsClash recognises the refusal of a Service whose ports would contradict each other.
func portsClash(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if strings.HasPrefix(cause.Field, "spec.ports") {
			return true
		}
	}
	return false
}

// replacePorts sets the ports of a Service as a whole. Ports are a list by number, so an apply adds to a port that
// somebody else renumbered instead of replacing it, and two ports of one name are refused. The next pass applies as usual.
func (r *Reconciler) replacePorts(ctx context.Context, s step, want *applycorev1.ServiceApplyConfiguration) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.live.GetUID(), "resourceVersion": s.live.GetResourceVersion()},
		"spec":     map[string]any{"ports": want.Spec.Ports},
	})
	if err != nil {
		return err
	}
	s.blank.SetNamespace(s.live.GetNamespace())
	s.blank.SetName(s.name)
	return r.client.Patch(ctx, s.blank, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(workloadv1.FieldManager))
}
