package webapp

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// verb is what a step does with a child.
type verb string

const (
	create verb = "Create"
	update verb = "Update"
	adopt  verb = "Adopt"
	remove verb = "Delete"
)

// step is one write to a child.
type step struct {
	verb       verb
	apiVersion string
	kind       string
	name       string

	// live is the object as it was observed; nil for create.
	live client.Object

	// config is the desired state; nil for remove.
	config runtime.ApplyConfiguration

	// require makes config fail unless the live object has this UID and resourceVersion.
	require func(uid types.UID, resourceVersion string)

	// blank is an empty object of the child's type.
	blank client.Object
}

// reference names the child.
func (s *step) reference(namespace string) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: s.apiVersion, Kind: s.kind, Namespace: namespace, Name: s.name}
}

// plan is what a pass does to the children, and what it already knows that it cannot do.
type plan struct {
	steps    []step
	problems []problem
}

// problem is why a child is not as the spec asks.
type problem struct {
	reason  string
	message string
}

// planFor compares what the spec asks for with what is there.
func planFor(w *appv1.WebApp, o observed) (plan, error) {
	var p plan
	if bad := invalidImage(w.Spec.Image); bad != nil {
		p.problems = append(p.problems, *bad)
	} else {
		deployment, err := deploymentFor(w, o)
		if err != nil {
			return plan{}, err
		}
		if err := decide(&p, w, appsv1.SchemeGroupVersion.WithKind("Deployment"), o.deployment, deployment); err != nil {
			return plan{}, err
		}
	}
	if err := decide(&p, w, corev1.SchemeGroupVersion.WithKind("Service"), o.service, serviceFor(w)); err != nil {
		return plan{}, err
	}
	if err := decide(&p, w, autoscalingv2.SchemeGroupVersion.WithKind("HorizontalPodAutoscaler"), o.autoscaler, autoscalerFor(w)); err != nil {
		return plan{}, err
	}
	if err := decide(&p, w, policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), o.budget, budgetFor(w)); err != nil {
		return plan{}, err
	}
	if err := decide(&p, w, networkingv1.SchemeGroupVersion.WithKind("Ingress"), o.ingress, ingressFor(w)); err != nil {
		return plan{}, err
	}
	return p, nil
}

// configuration is the apply configuration of a child; a nil one means that the child must not exist.
type configuration[C any] interface {
	runtime.ApplyConfiguration
	comparable
	GetName() *string
	WithUID(types.UID) C
	WithResourceVersion(string) C
}

// decide adds to the plan what brings a child from live, which may be nil, to want.
func decide[O any, P interface {
	*O
	client.Object
}, C configuration[C]](p *plan, w *appv1.WebApp, kind schema.GroupVersionKind, live P, want C) error {
	var unwanted C
	s := step{apiVersion: kind.GroupVersion().String(), kind: kind.Kind, blank: P(new(O))}
	if want != unwanted {
		s.name, s.config = *want.GetName(), want
		s.require = func(uid types.UID, version string) { want.WithUID(uid).WithResourceVersion(version) }
	}
	if live == nil {
		if want != unwanted {
			want.WithResourceVersion(noVersion)
			s.verb = create
			p.steps = append(p.steps, s)
		}
		return nil
	}
	s.live, s.name = live, live.GetName()
	switch {
	case want == unwanted && metav1.IsControlledBy(live, w) && live.GetDeletionTimestamp() == nil:
		s.verb, s.config = remove, nil
		p.steps = append(p.steps, s)
		return nil
	case want == unwanted:
		return nil
	case adoptable(live, w):
		s.verb = adopt
		p.steps = append(p.steps, s)
		return nil
	case !metav1.IsControlledBy(live, w):
		p.problems = append(p.problems, notOwned(s.kind, live))
		return nil
	case live.GetDeletionTimestamp() != nil:
		return nil
	}
	same, err := applied(want, live)
	if err != nil {
		return fmt.Errorf("comparing %s %s: %w", s.kind, s.name, err)
	}
	if !same {
		s.verb = update
		p.steps = append(p.steps, s)
	}
	return nil
}

// adoptable says whether an object without a controller was a child of a WebApp of this name: it carries both labels
// that only the operator sets. Such a child is left behind by a deletion with cascade=orphan.
func adoptable(live client.Object, w *appv1.WebApp) bool {
	return metav1.GetControllerOfNoCopy(live) == nil && live.GetDeletionTimestamp() == nil &&
		live.GetLabels()[workloadv1.LabelManagedBy] == workloadv1.ManagedBy &&
		live.GetLabels()[appv1.LabelWebApp] == w.Name
}

// notOwned is the problem that the name of a child belongs to somebody else's object, for now or for good.
func notOwned(kind string, live client.Object) problem {
	owner := "is not controlled by this WebApp"
	if c := metav1.GetControllerOfNoCopy(live); c != nil {
		owner = fmt.Sprintf("is controlled by %s %s with the UID %s, not by this WebApp", c.Kind, c.Name, c.UID)
	}
	if live.GetDeletionTimestamp() != nil {
		return problem{appv1.ReasonNameTaken, fmt.Sprintf("The %s %s, which %s, is still being deleted.", kind, live.GetName(), owner)}
	}
	return problem{workloadv1.ReasonNotOwned, fmt.Sprintf("The %s %s exists and %s. It is left alone.", kind, live.GetName(), owner)}
}
