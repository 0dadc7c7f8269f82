// Package controllers sets up the reconcilers of the operator. Each lives in a folder of its own and knows nothing of
// the others; what two of them share is in podtemplate, podhealth, degraded and statuspatch. They see only version v1 of the kinds.
package controllers

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/example/workload-operator/controllers/podset"
	"github.com/example/workload-operator/controllers/webapp"
)

// Options tune the reconcilers.
type Options struct {
	// MaxConcurrentReconciles is how many objects of each kind are worked on at the same time. Zero means one.
	MaxConcurrentReconciles int
}

// Setup adds every reconciler to a manager, which must have been made with CacheOptions.
func Setup(mgr ctrl.Manager, o Options) error {
	if err := webapp.Setup(mgr, o.MaxConcurrentReconciles); err != nil {
		return err
	}
	return podset.Setup(mgr, o.MaxConcurrentReconciles)
}

// CacheOptions bound the manager's cache to what the reconcilers read.
func CacheOptions() cache.Options {
	return cache.Options{ByObject: webapp.CacheByObject()}
}
