package tree

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/controllers/migration"
)

// Query says which objects to look for.
type Query struct {
	// Kind is WebApp or PodSet; both if empty.
	Kind string
	// Name of the objects; all if empty.
	Name string
	// Namespace to look in; all if empty.
	Namespace string
}

// Read returns the trees that a query finds, and what could not be read of them for want of a permission.
func Read(ctx context.Context, c client.Reader, q Query) (trees []*Tree, unseen []string, err error) {
	subjects, err := find(ctx, c, q)
	if err != nil {
		return nil, nil, err
	}
	parts := map[string]*Parts{}
	for _, s := range subjects {
		namespace := s.Object.GetNamespace()
		if parts[namespace] == nil {
			p, missed, err := partsOf(ctx, c, namespace)
			if err != nil {
				return nil, nil, err
			}
			parts[namespace], unseen = p, append(unseen, missed...)
		}
		trees = append(trees, grow(s, parts[namespace]))
	}
	return trees, unseen, refusedOf(ctx, c, subjects, trees)
}

// definitions of the kinds.
var definitions = map[string]string{"WebApp": "webapps.app.example.com", "PodSet": "podsets.batch.example.com"}

// refusedOf notes which objects the latest migration left behind. Whoever may not read the definitions is not told so each time: to
// migrate is not for them to do.
func refusedOf(ctx context.Context, c client.Reader, subjects []Subject, trees []*Tree) error {
	records := map[string]*migration.Record{}
	for i, s := range subjects {
		record, read := records[s.Kind]
		if !read {
			crd := &metav1.PartialObjectMetadata{}
			crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
			err := c.Get(ctx, client.ObjectKey{Name: definitions[s.Kind]}, crd)
			if err != nil && !apierrors.IsForbidden(err) {
				return fmt.Errorf("reading the record of the latest migration of %ss: %w", s.Kind, err)
			}
			record = migration.RecordOf(crd)
			records[s.Kind] = record
		}
		trees[i].Refused = refused(s.Object, record)
	}
	return nil
}

// refused is what the record of a migration says about an object, by UID: one that was made anew is another one.
func refused(object client.Object, record *migration.Record) string {
	if record == nil {
		return ""
	}
	for _, p := range record.Refusals {
		if p.UID == object.GetUID() {
			return fmt.Sprintf("was refused by the migration to %s at %s: %s", record.Target, record.Updated.Format(time.RFC3339), p.Reason)
		}
	}
	return ""
}

func find(ctx context.Context, c client.Reader, q Query) ([]Subject, error) {
	var options []client.ListOption
	if q.Namespace != "" {
		options = append(options, client.InNamespace(q.Namespace))
	}
	if q.Name != "" {
		options = append(options, client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", q.Name)})
	}
	var subjects []Subject
	if q.Kind != "PodSet" {
		list := &appv1.WebAppList{}
		if err := c.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("listing WebApps: %w", err)
		}
		for i := range list.Items {
			w := &list.Items[i]
			subjects = append(subjects, Subject{"WebApp", w, w.Status.ObservedGeneration, w.Status.Conditions})
		}
	}
	if q.Kind != "WebApp" {
		list := &batchv1.PodSetList{}
		if err := c.List(ctx, list, options...); err != nil {
			return nil, fmt.Errorf("listing PodSets: %w", err)
		}
		for i := range list.Items {
			p := &list.Items[i]
			subjects = append(subjects, Subject{"PodSet", p, p.Status.ObservedGeneration, p.Status.Conditions})
		}
	}
	return subjects, nil
}

// partsOf reads what may belong to objects of a namespace.
func partsOf(ctx context.Context, c client.Reader, namespace string) (p *Parts, unseen []string, err error) {
	p = &Parts{}
	deployments, replicaSets, pods := &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}
	services, ingresses, events := &corev1.ServiceList{}, &networkingv1.IngressList{}, &corev1.EventList{}
	autoscalers, budgets := &autoscalingv2.HorizontalPodAutoscalerList{}, &policyv1.PodDisruptionBudgetList{}
	for _, list := range []client.ObjectList{deployments, replicaSets, pods, services, autoscalers, budgets, ingresses, events} {
		err := c.List(ctx, list, client.InNamespace(namespace))
		switch {
		case apierrors.IsForbidden(err):
			unseen = append(unseen, err.Error())
		case err != nil:
			return nil, nil, fmt.Errorf("looking into namespace %s: %w", namespace, err)
		}
	}
	p.Deployments, p.ReplicaSets, p.Pods, p.Events = deployments.Items, replicaSets.Items, pods.Items, events.Items
	for i := range services.Items {
		p.Others = append(p.Others, &services.Items[i])
	}
	for i := range autoscalers.Items {
		p.Others = append(p.Others, &autoscalers.Items[i])
	}
	for i := range budgets.Items {
		p.Others = append(p.Others, &budgets.Items[i])
	}
	for i := range ingresses.Items {
		p.Others = append(p.Others, &ingresses.Items[i])
	}
	return p, unseen, nil
}
