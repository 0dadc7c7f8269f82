package unattended

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/migration"
)

const (
	controllerName = "migration"

	// A run that left objects behind is repeated after the first delay, then twice that, up to the longest.
	firstRetryDelay = 30 * time.Second
	maxRetryDelay   = 15 * time.Minute
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Options say what to migrate, and whether.
type Options struct {
	// CRDs are the names of the definitions.
	CRDs []string
	// Report only: say what is pending, and leave the migration to somebody else.
	ReportOnly bool
	// Engine tunes the runs. Observe and Actor are set here. Ready should fail while certificates change.
	Engine migration.Options
	// Wrap is put around the reconciler, given the controller's name. Nil: nothing is.
	Wrap func(controller string, next reconcile.Reconciler) reconcile.Reconciler
}

// Setup adds the controller to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	r := &Reconciler{
		options: o,
		events:  mgr.GetEventRecorder(workloadv1.FieldManager),
		logger:  mgr.GetLogger().WithValues("controller", controllerName),
		delays:  workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetryDelay, maxRetryDelay),
	}
	o.Engine.Actor, o.Engine.Observe = workloadv1.FieldManager, r.observe
	engine, err := migration.New(mgr.GetConfig(), o.Engine)
	if err != nil {
		return err
	}
	r.engine = engine
	metadataClient, err := metadata.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("connecting the migration controller: %w", err)
	}
	changes := make(chan event.GenericEvent, len(o.CRDs))
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return watch(ctx, metadataClient, o.CRDs, changes) })); err != nil {
		return fmt.Errorf("setting up the migration controller: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WatchesRawSource(source.Channel(changes, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: len(o.CRDs)}).
		Complete(o.wrapped(r))
	if err != nil {
		return fmt.Errorf("setting up the migration controller: %w", err)
	}
	return nil
}

func (o Options) wrapped(r reconcile.Reconciler) reconcile.Reconciler {
	if o.Wrap == nil {
		return r
	}
	return o.Wrap(controllerName, r)
}

// watch reports definitions that appear, or whose spec changed, until the context ends. The manager's cache cannot do it: the role
// allows definitions to be watched one by one, by name, only. Metadata is enough, and a record of a run is no change.
func watch(ctx context.Context, c metadata.Interface, names []string, changes chan<- event.GenericEvent) error {
	send := func(object any) {
		if definition, ok := object.(client.Object); ok {
			select {
			case changes <- event.GenericEvent{Object: definition}:
			case <-ctx.Done():
			}
		}
	}
	var informers sync.WaitGroup
	defer informers.Wait()
	for _, name := range names {
		informer := metadatainformer.NewFilteredMetadataInformer(c, definitions, metav1.NamespaceAll, 0, cache.Indexers{}, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}).Informer()
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: send,
			UpdateFunc: func(before, after any) {
				if b, ok := before.(metav1.Object); ok && b.GetGeneration() != after.(metav1.Object).GetGeneration() {
					send(after)
				}
			},
		})
		if err != nil {
			return fmt.Errorf("watching CustomResourceDefinition %s: %w", name, err)
		}
		informers.Go(func() { informer.RunWithContext(ctx) })
	}
	<-ctx.Done()
	return nil
}
