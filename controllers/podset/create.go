package podset

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/podtemplate"
)

var (
	// errNameTaken: an object that is not ours has the name that was chosen.
	errNameTaken = errors.New("the name of the Pod is taken")

	// errLabelsRemoved: the created Pod would not be found again, so creating more would never end.
	errLabelsRemoved = errors.New("an admission plugin of the cluster removes the labels that the operator finds its Pods by")
)

// template is the Pod that this pass creates, without a name.
func template(o *observation) (*corev1.Pod, error) {
	labels := selectorOf(o.podSet)
	labels[workloadv1.LabelManagedBy] = workloadv1.ManagedBy
	labels[batchv1.LabelRevision] = o.revision.String()
	built, err := podtemplate.Build(&o.podSet.Spec.PodSettings, podtemplate.Options{
		Labels:   labels,
		Selector: selectorOf(o.podSet),
		Ports:    o.podSet.Spec.Ports,
	})
	if err != nil {
		return nil, err
	}
	pod, err := podtemplate.Pod(built)
	if err != nil {
		return nil, err
	}
	pod.Namespace = o.podSet.Namespace
	pod.OwnerReferences = []metav1.OwnerReference{controllerRef(o.podSet)}
	return pod, nil
}

func controllerRef(podSet *batchv1.PodSet) metav1.OwnerReference {
	return *metav1.NewControllerRef(podSet, batchv1.GroupVersion.WithKind(kindPodSet))
}

// create makes n Pods, slowly at first.
func (a *applier) create(ctx context.Context, n int) {
	if n == 0 {
		return
	}
	pod, err := template(a.o)
	if err != nil {
		a.fail(err)
		return
	}
	names := a.names(n)
	pods := make([]*corev1.Pod, n)
	errs := slowStart(a.r.width, n, func(i int) error {
		pods[i] = pod.DeepCopy()
		pods[i].Name = names[i]
		return a.createPod(ctx, pods[i])
	})
	for i, err := range errs {
		a.recordCreation(pods[i], err)
	}
}

// names returns the names of lost creations first, so that none of them leads to a second Pod, and new ones after them.
func (a *applier) names(n int) []string {
	names := sets.List(a.known.unanswered)
	for len(names) < n {
		names = append(names, a.r.newName(a.o.podSet.Name+batchv1.PodNameInfix))
	}
	return names[:n]
}

// createPod creates the Pod and completes it with the answer. A Pod of ours that exists already is as good as a new one.
func (a *applier) createPod(ctx context.Context, pod *corev1.Pod) error {
	err := a.r.client.Create(ctx, pod, fieldOwner)
	if apierrors.IsAlreadyExists(err) {
		existing := &corev1.Pod{}
		switch getErr := a.r.live.Get(ctx, client.ObjectKeyFromObject(pod), existing); {
		case apierrors.IsNotFound(getErr) || getErr == nil && !ownedBy(existing, a.o.podSet):
			return errNameTaken
		case getErr != nil:
			return fmt.Errorf("reading the Pod of a lost creation: %w", getErr)
		}
		existing.DeepCopyInto(pod)
		return nil
	}
	if err == nil && !findable(pod, a.o.podSet) {
		return a.removeUnfindable(ctx, pod)
	}
	return err
}

// removeUnfindable deletes a Pod that was created a moment ago. Scheduler and kubelet change it meanwhile, so unlike elsewhere
// its resourceVersion is no condition.
func (a *applier) removeUnfindable(ctx context.Context, pod *corev1.Pod) error {
	err := a.r.client.Delete(ctx, pod, client.Preconditions{UID: &pod.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing a Pod that lost its labels: %w", err)
	}
	return errLabelsRemoved
}

func findable(pod *corev1.Pod, podSet *batchv1.PodSet) bool {
	return pod.Labels[batchv1.LabelPodSet] == podSet.Name && pod.Labels[workloadv1.LabelManagedBy] == workloadv1.ManagedBy
}

// recordCreation draws the conclusions from the answer to one creation.
func (a *applier) recordCreation(pod *corev1.Pod, err error) {
	switch {
	case err == nil:
		a.known.unanswered.Delete(pod.Name)
		a.known.expected.expect(pod, created, a.o.now)
		a.r.alive.saw(pod)
		a.known.failures.created(pod.Name)
		a.out.created++
	case errors.Is(err, errNameTaken):
		a.known.unanswered.Delete(pod.Name)
		a.out.stale = true
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		a.known.namespaceTerminating = true
	case refused(err):
		if apierrors.IsInternalError(err) {
			a.known.unanswered.Insert(pod.Name) // the message does not tell whether something was stored
		}
		a.refuse(reasonFailedCreate, pod.Name, err)
	case apierrors.IsConflict(err), apierrors.IsTooManyRequests(err):
		a.out.stale = true // an admission plugin such as quota asks for another attempt
	default:
		a.known.unanswered.Insert(pod.Name)
		a.fail(fmt.Errorf("creating a Pod: %w", err))
	}
}
