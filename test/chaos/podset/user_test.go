package podset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

const (
	setName   = "web"
	mark      = "example.net/mark" // an annotation that is none of the operator's business
	finalizer = "example.net/hold"
)

// act does one thing that users, nodes and administrators do.
func (h *history) act() error {
	deeds := []struct {
		weight int
		do     func() error
	}{
		{12, h.editSet},
		{6, h.deletePod},
		{1, h.changing(func(p *corev1.Pod) { behave(p, controlplane.BehaviourFail) })},
		{2, h.changing(func(p *corev1.Pod) { behave(p, controlplane.BehaviourNeverReady) })},
		{2, h.changing(func(p *corev1.Pod) { delete(p.Annotations, controlplane.AnnotationBehaviour) })},
		{2, h.changing(func(p *corev1.Pod) { delete(p.Labels, batchv1.LabelPodSet) })},
		{2, h.relabel},
		{2, h.changing(func(p *corev1.Pod) { delete(p.Labels, workloadv1.LabelManagedBy) })},
		{1, h.hold},
		{2, h.release},
		{3, h.markPod},
		{1, h.renew},
		{1, h.restart},
	}
	total := 0
	for _, d := range deeds {
		total += d.weight
	}
	n := h.random.IntN(total)
	for _, d := range deeds {
		if n -= d.weight; n < 0 {
			return d.do()
		}
	}
	return nil
}

func behave(p *corev1.Pod, behaviour string) {
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[controlplane.AnnotationBehaviour] = behaviour
}

// editSet changes the spec, and remembers what the API server acknowledged.
func (h *history) editSet() error {
	return h.updateSet(func(spec *batchv1.PodSetSpec) {
		switch h.random.IntN(10) {
		case 0:
			spec.Image = fmt.Sprintf("nginx:%d", h.random.IntN(4))
		case 1:
			spec.Args = []string{fmt.Sprint(h.random.IntN(3))}
		case 2:
			spec.Paused = h.random.IntN(4) == 0
		case 3:
			spec.Suspend = h.random.IntN(4) == 0
		case 4:
			kinds := []batchv1.UpdateStrategyType{batchv1.RollingUpdateStrategy, batchv1.InPlaceStrategy, batchv1.OnDeleteStrategy}
			spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: kinds[h.random.IntN(len(kinds))]}
		case 5:
			spec.PodReplacementPolicy = h.somePolicy()
		case 6:
			spec.MinReadySeconds = int32(h.random.IntN(3))
		default:
			spec.Replicas = new(int32(1 + h.random.IntN(10)))
		}
	})
}

func (h *history) somePolicy() batchv1.PodReplacementPolicy {
	policies := []batchv1.PodReplacementPolicy{"", batchv1.ReplaceFailed, batchv1.ReplaceFailed, batchv1.ReplaceTerminatingOrFailed}
	return policies[h.random.IntN(len(policies))]
}

func (h *history) updateSet(mutate func(*batchv1.PodSetSpec)) error {
	set, err := h.readSet()
	if err != nil {
		return err
	}
	mutate(&set.Spec)
	if err := h.client.Update(h.ctx, set); err != nil {
		return err
	}
	h.acknowledged = set.Spec
	return nil
}

func (h *history) readSet() (*batchv1.PodSet, error) {
	set := &batchv1.PodSet{}
	return set, h.client.Get(h.ctx, client.ObjectKey{Namespace: h.namespace, Name: setName}, set)
}

// createSet creates the PodSet with the spec that was acknowledged last.
func (h *history) createSet() error {
	set := &batchv1.PodSet{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: setName}, Spec: *h.acknowledged.DeepCopy()}
	if err := h.client.Create(h.ctx, set); err != nil {
		return err
	}
	h.acknowledged = set.Spec
	return nil
}

// renew deletes the PodSet in one of the three ways, and creates another one of its name as soon as that is possible.
func (h *history) renew() error {
	set, err := h.readSet()
	if err != nil {
		return err
	}
	ways := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan}
	way := ways[h.random.IntN(len(ways))]
	if way == metav1.DeletePropagationForeground {
		if err := h.releaseAll(); err != nil { // a Pod that is held would hold the PodSet
			return err
		}
	}
	if err := h.client.Delete(h.ctx, set, client.PropagationPolicy(way)); err != nil {
		return err
	}
	h.renewals[way]++
	return h.eventually("the PodSet is deleted", func() (bool, error) {
		err := h.createSet()
		return err == nil, client.IgnoreAlreadyExists(err)
	})
}

// anyPod returns a Pod that is not foreign, among those that keep accepts; nil if there is none.
func (h *history) anyPod(keep func(*corev1.Pod) bool) (*corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := h.client.List(h.ctx, list, client.InNamespace(h.namespace)); err != nil {
		return nil, err
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return h.model.foreign[p.Name] || !keep(&p) })
	if len(pods) == 0 {
		return nil, nil
	}
	return &pods[h.random.IntN(len(pods))], nil
}

func living(p *corev1.Pod) bool { return p.DeletionTimestamp == nil }

func (h *history) deletePod() error {
	pod, err := h.anyPod(living)
	if pod == nil || err != nil {
		return err
	}
	h.model.byUser[keyOf(pod)] = true
	return h.client.Delete(h.ctx, pod, client.Preconditions{UID: &pod.UID})
}

// changing changes some Pod.
func (h *history) changing(mutate func(*corev1.Pod)) func() error {
	return func() error {
		pod, err := h.anyPod(living)
		if pod == nil || err != nil {
			return err
		}
		mutate(pod)
		return h.client.Update(h.ctx, pod)
	}
}

// relabel puts the label back on a Pod that lost it.
func (h *history) relabel() error {
	pod, err := h.anyPod(func(p *corev1.Pod) bool { return living(p) && p.Labels[batchv1.LabelPodSet] == "" })
	if pod == nil || err != nil {
		return err
	}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	pod.Labels[batchv1.LabelPodSet], pod.Labels[workloadv1.LabelManagedBy] = setName, workloadv1.ManagedBy
	return h.client.Update(h.ctx, pod)
}

// markPod writes something on a Pod that must stay there.
func (h *history) markPod() error {
	pod, err := h.anyPod(living)
	if pod == nil || err != nil {
		return err
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[mark] = fmt.Sprint(h.random.Uint32())
	if err := h.client.Update(h.ctx, pod); err != nil {
		return err
	}
	h.marks[keyOf(pod)] = pod.Annotations[mark]
	return nil
}

// hold deletes a Pod that cannot go yet.
func (h *history) hold() error {
	pod, err := h.anyPod(living)
	if pod == nil || err != nil {
		return err
	}
	pod.Finalizers = []string{finalizer}
	if err := h.client.Update(h.ctx, pod); err != nil {
		return err
	}
	h.model.byUser[keyOf(pod)] = true
	return h.client.Delete(h.ctx, pod, client.Preconditions{UID: &pod.UID})
}

// release lets a Pod go that was held.
func (h *history) release() error {
	pod, err := h.anyPod(func(p *corev1.Pod) bool { return len(p.Finalizers) > 0 })
	if pod == nil || err != nil {
		return err
	}
	pod.Finalizers = nil
	return h.client.Update(h.ctx, pod)
}

func (h *history) releaseAll() error {
	return h.eventually("no Pod is held", func() (bool, error) {
		if err := h.release(); err != nil {
			return false, lostRace(err)
		}
		held, err := h.anyPod(func(p *corev1.Pod) bool { return len(p.Finalizers) > 0 })
		return held == nil, err
	})
}

// addForeign makes Pods that look like ours as much as possible and are not: one has another controller, one the UID of a PodSet
// that does not exist any more, one another value of the label.
func (h *history) addForeign() error {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "owner"}}
	if err := h.client.Create(h.ctx, owner); err != nil {
		return err
	}
	ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: new(true)}
	for name, change := range map[string]func(*corev1.Pod){
		"foreign-owned": func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{ref} },
		"foreign-web-pod-abcde": func(p *corev1.Pod) {
			p.Labels[batchv1.LabelPodSet] = strings.Repeat(setName, 2)
		},
		"foreign-plain": func(p *corev1.Pod) { p.Labels = nil },
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name, Labels: map[string]string{
			batchv1.LabelPodSet: setName, workloadv1.LabelManagedBy: workloadv1.ManagedBy,
		}}}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "other"}}
		change(pod)
		h.model.foreign[name] = true
		if err := h.client.Create(h.ctx, pod); err != nil {
			return err
		}
	}
	return nil
}

// lostRace tells apart what a user runs into while others work on the same things.
func lostRace(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
