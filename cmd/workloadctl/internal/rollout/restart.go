package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// restartedAt is the annotation of Pods by which kubectl restarts, too.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// fieldManager owns the annotation.
const fieldManager = client.FieldOwner("workloadctl")

// Restart replaces the Pods, as the strategy of the object wants it. A WebApp is restarted through its Deployment, as kubectl would
// do it, which leaves the WebApp as it is in git; a PodSet has no place for that but its spec.podAnnotations.
func Restart(ctx context.Context, c client.Client, t *Target, now time.Time) error {
	switch {
	case t.Object.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%s is being deleted: its Pods go, and no others come", t.Name())
	case t.suspended:
		return fmt.Errorf("%s is suspended: it has no Pods to restart", t.Name())
	case t.paused:
		return fmt.Errorf("%s is paused: set spec.paused to false first", t.Name())
	}
	stamp := map[string]any{restartedAt: now.UTC().Format(time.RFC3339Nano)}
	object, spec := t.Object, map[string]any{"podAnnotations": stamp}
	if t.Kind == WebApp {
		deployment := &appsv1.Deployment{}
		key := types.NamespacedName{Namespace: t.Object.GetNamespace(), Name: t.Object.GetName() + appv1.DeploymentSuffix}
		if err := c.Get(ctx, key, deployment); err != nil {
			return fmt.Errorf("reading the Deployment of %s: %w", t.Name(), err)
		}
		if !metav1.IsControlledBy(deployment, t.Object) {
			return fmt.Errorf("%s does not own the Deployment %s", t.Name(), key)
		}
		object, spec = deployment, map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": stamp}}}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": object.GetUID()}, "spec": spec})
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), fieldManager); err != nil {
		return fmt.Errorf("restarting %s: %w", t.Name(), err)
	}
	return nil
}
