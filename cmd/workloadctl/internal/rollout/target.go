package rollout

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

// Kinds that can be rolled out.
const (
	WebApp = "WebApp"
	PodSet = "PodSet"
)

// Target is a WebApp or PodSet, as far as a rollout is concerned.
type Target struct {
	Kind   string
	Object client.Object

	paused, suspended bool
	onDelete          bool
	observed          int64
	current           string // revision of a PodSet
	replicas          int32
	updated           int32
	conditions        []metav1.Condition
	// behind says that the Deployment of a WebApp has changes that its Pods do not have yet. The WebApp itself may not know: a
	// restart does not change it.
	behind bool
}

// Name says which object it is.
func (t *Target) Name() string { return t.Kind + " " + client.ObjectKeyFromObject(t.Object).String() }

// Get reads an object of one of the Kinds.
func Get(ctx context.Context, c client.Reader, kind string, key client.ObjectKey) (*Target, error) {
	if kind == WebApp {
		w := &appv1.WebApp{}
		if err := c.Get(ctx, key, w); err != nil {
			return nil, fmt.Errorf("reading WebApp %s: %w", key, err)
		}
		behind, err := deploymentBehind(ctx, c, w)
		if err != nil {
			return nil, err
		}
		return &Target{
			Kind: kind, Object: w, behind: behind, paused: w.Spec.Paused, suspended: w.Spec.Suspend, observed: w.Status.ObservedGeneration,
			replicas: w.Status.Replicas, updated: w.Status.UpdatedReplicas, conditions: w.Status.Conditions,
		}, nil
	}
	p := &batchv1.PodSet{}
	if err := c.Get(ctx, key, p); err != nil {
		return nil, fmt.Errorf("reading PodSet %s: %w", key, err)
	}
	return &Target{
		Kind: kind, Object: p, paused: p.Spec.Paused, suspended: p.Spec.Suspend, observed: p.Status.ObservedGeneration,
		onDelete: p.Spec.UpdateStrategy != nil && p.Spec.UpdateStrategy.Type == batchv1.OnDeleteStrategy, current: p.Status.CurrentRevision,
		replicas: p.Status.Replicas, updated: p.Status.UpdatedReplicas, conditions: p.Status.Conditions,
	}, nil
}

func deploymentBehind(ctx context.Context, c client.Reader, w *appv1.WebApp) (bool, error) {
	d := &appsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name + appv1.DeploymentSuffix}, d)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return false, nil // the WebApp says what there is to say
	case err != nil:
		return false, fmt.Errorf("reading the Deployment of WebApp %s: %w", client.ObjectKeyFromObject(w), err)
	}
	return metav1.IsControlledBy(d, w) && (d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas), nil
}
