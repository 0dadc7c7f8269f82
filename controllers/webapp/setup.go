package webapp

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/objectmetrics"
	"github.com/example/workload-operator/controllers/podhealth"
)

const (
	controllerName = "webapp"
	kindWebApp     = "WebApp"
)

// passTimeout bounds one pass, so that a cache that lost its connection does not hold a worker for ever.
const passTimeout = time.Minute

// +kubebuilder:rbac:groups=app.example.com,resources=webapps,verbs=get;list;watch
// +kubebuilder:rbac:groups=app.example.com,resources=webapps/status,verbs=patch
// +kubebuilder:rbac:groups=app.example.com,resources=webapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Options tune the reconciler.
type Options struct {
	// MaxConcurrentReconciles is how many WebApps are reconciled at the same time. Zero means one.
	MaxConcurrentReconciles int
	// Wrap is put around the reconciler, given the controller's name. Nil: nothing is.
	Wrap func(controller string, next reconcile.Reconciler) reconcile.Reconciler
}

// Setup adds the reconciler of WebApps to a manager.
func Setup(mgr ctrl.Manager, o Options) error {
	r := &Reconciler{
		live:     mgr.GetAPIReader(),
		recorder: mgr.GetEventRecorder(workloadv1.FieldManager),
		now:      time.Now,
		states:   objectmetrics.States{Kind: kindWebApp},
	}
	var err error
	r.client, err = client.New(mgr.GetConfig(), client.Options{
		HTTPClient: mgr.GetHTTPClient(),
		Scheme:     mgr.GetScheme(),
		Mapper:     mgr.GetRESTMapper(),
		// After a pass wrote a child it reads it again, and so must meet its own write.
		Cache: &client.CacheOptions{Reader: mgr.GetCache(), EnableReadYourWritesConsistency: new(true)},
	})
	if err != nil {
		return fmt.Errorf("building the client of the WebApp controller: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named(controllerName).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.MaxConcurrentReconciles, ReconciliationTimeout: passTimeout}).
		// Generations do not tell every change of a spec: one that was made through the annotation of the older version
		// has none. So no event is filtered by generation.
		For(&appv1.WebApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}, builder.WithPredicates(intentChanged)).
		Owns(&networkingv1.Ingress{}, builder.WithPredicates(intentChanged)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(webAppsOfScaler), builder.WithPredicates(intentChanged)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(webAppOfPod), builder.WithPredicates(problemChanged)).
		Complete(o.wrapped(r))
	if err != nil {
		return fmt.Errorf("setting up the WebApp controller: %w", err)
	}
	return nil
}

func (o Options) wrapped(r reconcile.Reconciler) reconcile.Reconciler {
	if o.Wrap == nil {
		return r
	}
	return o.Wrap(controllerName, r)
}

// CacheByObject says which objects the manager's cache holds for WebApps: their children, by label.
// HorizontalPodAutoscalers are held whoever made them, because one that targets a Deployment of the operator takes over
// its number of replicas. Of children managedFields are kept, because they say what the operator owns.
func CacheByObject() map[client.Object]cache.ByObject {
	ours := labels.SelectorFromSet(labels.Set{workloadv1.LabelManagedBy: workloadv1.ManagedBy})
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}:            {Label: ours},
		&corev1.Service{}:               {Label: ours},
		&policyv1.PodDisruptionBudget{}: {Label: ours},
		&networkingv1.Ingress{}:         {Label: ours},
	}
}

// webAppsOfScaler returns the WebApp whose child the autoscaler is or would be by name, and the one that it scales, or
// whose Deployment it scales.
func webAppsOfScaler(_ context.Context, object client.Object) []reconcile.Request {
	var requests []reconcile.Request
	add := func(child, suffix string) {
		if name, found := strings.CutSuffix(child, suffix); found && name != "" {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: object.GetNamespace(), Name: name}})
		}
	}
	add(object.GetName(), appv1.HorizontalPodAutoscalerSuffix)
	if a, ok := object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
		switch target := a.Spec.ScaleTargetRef; {
		case target.Kind == "Deployment":
			add(target.Name, appv1.DeploymentSuffix)
		case isWebApp(target):
			add(target.Name, "")
		}
	}
	return requests
}

func webAppOfPod(_ context.Context, pod client.Object) []reconcile.Request {
	name := pod.GetLabels()[appv1.LabelWebApp]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: pod.GetNamespace(), Name: name}}}
}

// problemChanged lets a Pod speak up only when what is wrong with it changes. Counts come from the Deployment.
var problemChanged = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return problemOf(e.Object) != podhealth.Problem{} },
	UpdateFunc: func(e event.UpdateEvent) bool { return problemOf(e.ObjectOld) != problemOf(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return problemOf(e.Object) != podhealth.Problem{} },
}

func problemOf(object client.Object) podhealth.Problem {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return podhealth.Problem{}
	}
	worst, _ := podhealth.Worst([]*corev1.Pod{pod})
	return worst
}

// intentChanged drops updates of nothing but status, which other controllers write every few seconds and of which the
// WebApp's status takes nothing.
var intentChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(intentOf(e.ObjectOld), intentOf(e.ObjectNew))
	},
}

// intentOf returns a copy of the object without what changes when nobody changes anything but its status.
func intentOf(object client.Object) client.Object {
	switch o := object.DeepCopyObject().(type) {
	case *autoscalingv2.HorizontalPodAutoscaler:
		o.Status = autoscalingv2.HorizontalPodAutoscalerStatus{}
		return withoutBookkeeping(o)
	case *policyv1.PodDisruptionBudget:
		o.Status = policyv1.PodDisruptionBudgetStatus{}
		return withoutBookkeeping(o)
	case *networkingv1.Ingress:
		o.Status = networkingv1.IngressStatus{}
		return withoutBookkeeping(o)
	}
	return object
}

func withoutBookkeeping(object client.Object) client.Object {
	object.SetResourceVersion("")
	object.SetManagedFields(nil)
	return object
}
