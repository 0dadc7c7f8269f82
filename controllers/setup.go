// Package controllers sets up the reconcilers of the operator. Each lives in a folder of its own and knows nothing of
// the others; what two of them share is in podtemplate, podhealth, degraded and statuspatch. They see only version v1 of the kinds.
package controllers

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/migration/unattended"
	"github.com/example/workload-operator/controllers/podset"
	"github.com/example/workload-operator/controllers/webapp"
)

// Options tune the reconcilers.
type Options struct {
	// MaxConcurrentReconciles is how many objects of each kind are worked on at the same time. Zero means one.
	MaxConcurrentReconciles int
	// Migration of stored objects. Nil: another operator migrates them.
	Migration *unattended.Options
	// Wrap is put around the reconciler of each controller, given its name. Nil: nothing is.
	Wrap func(controller string, next reconcile.Reconciler) reconcile.Reconciler
}

// Setup adds every reconciler to a manager, which must have been made with CacheOptions.
func Setup(mgr ctrl.Manager, o Options) error {
	if err := webapp.Setup(mgr, webapp.Options{MaxConcurrentReconciles: o.MaxConcurrentReconciles, Wrap: o.Wrap}); err != nil {
		return err
	}
	if err := podset.Setup(mgr, podset.Options{MaxConcurrentReconciles: o.MaxConcurrentReconciles, Wrap: o.Wrap}); err != nil {
		return err
	}
	if o.Migration == nil {
		return nil
	}
	migration := *o.Migration
	migration.Wrap = o.Wrap
	return unattended.Setup(mgr, migration)
}

// CacheOptions bound the manager's cache to what the reconcilers read. Pods of both kinds carry the operator's label; who
// owns the fields of a Pod concerns nobody here.
func CacheOptions() cache.Options {
	byObject := webapp.CacheByObject()
	byObject[&corev1.Pod{}] = cache.ByObject{
		Label:     labels.SelectorFromSet(labels.Set{workloadv1.LabelManagedBy: workloadv1.ManagedBy}),
		Transform: slimPod,
	}
	return cache.Options{ByObject: byObject}
}

// slimPod drops what no reconciler reads of a Pod, which is most of it: a cache of ten thousand Pods must stay small.
func slimPod(object any) (any, error) {
	if pod, is := object.(*corev1.Pod); is {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	}
	return object, nil
}
