package webapp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// observed is what the cache shows around a WebApp. Objects that have the name of a child are in it whoever owns them;
// nil means that the cache has no such object.
type observed struct {
	deployment *appsv1.Deployment
	service    *corev1.Service
	autoscaler *autoscalingv2.HorizontalPodAutoscaler
	budget     *policyv1.PodDisruptionBudget
	ingress    *networkingv1.Ingress

	// scalers are the names of the HorizontalPodAutoscalers that somebody pointed at the Deployment, sorted.
	scalers []string

	// overshoots says, for each HorizontalPodAutoscaler that somebody pointed at the WebApp, if it allows more replicas
	// than a WebApp can have. Sorted sentences.
	overshoots []string

	// pods are the Pods of the WebApp. They are read only while the Deployment is not complete, and must not be changed.
	pods []*corev1.Pod
}

func (r *Reconciler) observe(ctx context.Context, w *appv1.WebApp) (observed, error) {
	var o observed
	var err error
	if o.deployment, err = get[appsv1.Deployment](ctx, r.client, w, appv1.DeploymentSuffix); err != nil {
		return o, err
	}
	if o.service, err = get[corev1.Service](ctx, r.client, w, appv1.ServiceSuffix); err != nil {
		return o, err
	}
	if o.autoscaler, err = get[autoscalingv2.HorizontalPodAutoscaler](ctx, r.client, w, appv1.HorizontalPodAutoscalerSuffix); err != nil {
		return o, err
	}
	if o.budget, err = get[policyv1.PodDisruptionBudget](ctx, r.client, w, appv1.PodDisruptionBudgetSuffix); err != nil {
		return o, err
	}
	if o.ingress, err = get[networkingv1.Ingress](ctx, r.client, w, appv1.IngressSuffix); err != nil {
		return o, err
	}
	if err = r.observeScalers(ctx, w, &o); err != nil {
		return o, err
	}
	o.pods, err = r.podsOf(ctx, w, o.deployment)
	return o, err
}

// get reads the object that has the name of a child; nil means that there is none.
func get[O any, P interface {
	*O
	client.Object
}](ctx context.Context, c client.Client, w *appv1.WebApp, suffix string) (P, error) {
	object := P(new(O))
	key := client.ObjectKey{Namespace: w.Namespace, Name: w.Name + suffix}
	if err := c.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("reading %T %s: %w", object, key, err)
	}
	// Not every reader fills the kind in, and it takes the kind to know which fields are owned.
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T: %w", object, err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, nil
}

// observeScalers finds the autoscalers of somebody else that concern the WebApp.
func (r *Reconciler) observeScalers(ctx context.Context, w *appv1.WebApp, o *observed) error {
	var list autoscalingv2.HorizontalPodAutoscalerList
	// Nothing of the list is changed, and the operator's own autoscalers never target a Deployment, so neither a copy nor
	// waiting for own writes is needed.
	if err := r.client.List(ctx, &list, client.InNamespace(w.Namespace),
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("listing HorizontalPodAutoscalers: %w", err)
	}
	for i := range list.Items {
		a := &list.Items[i]
		switch target := a.Spec.ScaleTargetRef; {
		case a.DeletionTimestamp != nil:
		case target.Kind == "Deployment" && target.Name == w.Name+appv1.DeploymentSuffix:
			o.scalers = append(o.scalers, a.Name)
		case isWebApp(target) && target.Name == w.Name && a.Spec.MaxReplicas > maxReplicas:
			o.overshoots = append(o.overshoots, fmt.Sprintf(
				"The HorizontalPodAutoscaler %s allows %d replicas, and a WebApp has at most %d.", a.Name, a.Spec.MaxReplicas, maxReplicas))
		}
	}
	slices.Sort(o.scalers)
	slices.Sort(o.overshoots)
	return nil
}

// isWebApp says whether an autoscaler scales a WebApp, in whichever version.
func isWebApp(target autoscalingv2.CrossVersionObjectReference) bool {
	return target.Kind == kindWebApp && strings.HasPrefix(target.APIVersion, appv1.GroupVersion.Group+"/")
}

func (r *Reconciler) podsOf(ctx context.Context, w *appv1.WebApp, d *appsv1.Deployment) ([]*corev1.Pod, error) {
	if d == nil || complete(d) {
		return nil, nil
	}
	var list corev1.PodList
	if err := r.client.List(ctx, &list, client.InNamespace(w.Namespace), client.MatchingLabels(selectorOf(w)),
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}
