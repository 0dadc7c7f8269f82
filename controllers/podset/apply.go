package podset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const fieldOwner = client.FieldOwner(workloadv1.FieldManager)

// outcome is what apply did.
type outcome struct {
	created, deleted, updated, adopted, released, relabelled int

	stale    bool  // a precondition failed, so somebody was faster: look again
	unwanted bool  // the PodSet is gone or going, and the cache does not know it yet
	err      error // trouble that will pass
}

func (o *outcome) wrote() bool {
	return o.created+o.deleted+o.updated+o.adopted+o.released+o.relabelled > 0
}

// applier carries out the decision of one pass.
type applier struct {
	r     *Reconciler
	o     *observation
	known *record
	out   outcome
	last  *refusal // that of earlier passes
}

// apply makes the writes of one pass, and remembers them until the cache shows them.
func (r *Reconciler) apply(ctx context.Context, o *observation, known *record, d decision) outcome {
	a := &applier{r: r, o: o, known: known, last: known.refusal}
	if d.waiting {
		return a.out
	}
	if !d.held {
		known.refusal = nil
	}
	if len(d.adopt)+d.create > 0 {
		wanted, err := r.stillWanted(ctx, o.podSet)
		if err != nil || !wanted {
			known.refusal = a.last
			return outcome{unwanted: !wanted, err: err}
		}
	}
	a.claim(ctx, d)
	a.delete(ctx, d.deletes())
	a.patchImages(ctx, d.patch)
	a.create(ctx, d.create)
	return a.out
}

// stillWanted reads the PodSet itself. The watch of Pods may be ahead of the watch of PodSets: a Pod that vanished, or became
// an orphan, because its PodSet is being deleted must be neither replaced nor adopted.
func (r *Reconciler) stillWanted(ctx context.Context, podSet *batchv1.PodSet) (bool, error) {
	fresh := &metav1.PartialObjectMetadata{}
	fresh.SetGroupVersionKind(batchv1.GroupVersion.WithKind(kindPodSet))
	err := r.live.Get(ctx, client.ObjectKeyFromObject(podSet), fresh)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking whether the PodSet is still wanted: %w", err)
	}
	return fresh.UID == podSet.UID && fresh.DeletionTimestamp == nil, nil
}

// claim adopts orphans, releases strays, and puts the label back on what somebody took it off.
func (a *applier) claim(ctx context.Context, d decision) {
	ours := controllerRef(a.o.podSet)
	a.patch(ctx, d.adopt, &a.out.adopted, types.MergePatchType, func(pod *corev1.Pod) map[string]any {
		return map[string]any{"metadata": map[string]any{
			"ownerReferences": append(slices.Clone(pod.OwnerReferences), ours),
		}}
	})
	a.patch(ctx, d.release, &a.out.released, types.MergePatchType, func(pod *corev1.Pod) map[string]any {
		return map[string]any{"metadata": map[string]any{
			"ownerReferences": slices.DeleteFunc(slices.Clone(pod.OwnerReferences), func(ref metav1.OwnerReference) bool {
				return ref.UID == ours.UID
			}),
		}}
	})
	a.patch(ctx, d.relabel, &a.out.relabelled, types.MergePatchType, func(*corev1.Pod) map[string]any {
		return map[string]any{"metadata": map[string]any{
			"labels": map[string]any{workloadv1.LabelManagedBy: workloadv1.ManagedBy},
		}}
	})
	a.known.expected.appear(d.relabel)
}

// patchImages gives running Pods the new image, and nothing else.
func (a *applier) patchImages(ctx context.Context, pods []*corev1.Pod) {
	a.patch(ctx, pods, &a.out.updated, types.StrategicMergePatchType, func(pod *corev1.Pod) map[string]any {
		return map[string]any{
			"metadata": map[string]any{
				"labels":      map[string]any{batchv1.LabelRevision: a.o.revision.String()},
				"annotations": map[string]any{annotationReplacedContainer: containerID(pod)},
			},
			"spec": map[string]any{"containers": []any{
				map[string]any{"name": workloadv1.ContainerName, "image": a.o.podSet.Spec.Image},
			}},
		}
	})
}

// patch sends one patch per Pod, valid only for the Pod as it was observed.
func (a *applier) patch(ctx context.Context, pods []*corev1.Pod, done *int, kind types.PatchType, body func(*corev1.Pod) map[string]any) {
	answers := make([]*corev1.Pod, len(pods))
	errs := slowStart(a.r.width, len(pods), func(i int) error {
		patch := body(pods[i])
		metadata := patch["metadata"].(map[string]any)
		metadata["uid"], metadata["resourceVersion"] = pods[i].UID, pods[i].ResourceVersion
		raw, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		answers[i] = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pods[i].Namespace, Name: pods[i].Name}}
		return a.r.client.Patch(ctx, answers[i], client.RawPatch(kind, raw), fieldOwner)
	})
	for i, err := range errs {
		switch {
		case err == nil:
			a.known.expected.expect(answers[i], patched, a.o.now)
			a.r.alive.saw(answers[i])
			*done++
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			a.out.stale = true
		case refused(err):
			a.refuse(reasonFailedUpdate, pods[i].Name, err)
		default:
			a.fail(fmt.Errorf("patching a Pod: %w", err))
		}
	}
}

func (a *applier) delete(ctx context.Context, pods []*corev1.Pod) {
	// A Pod that is gone already is what we wanted; the cache will show it.
	errs := slowStart(a.r.width, len(pods), func(i int) error { return client.IgnoreNotFound(a.deletePod(ctx, pods[i])) })
	for i, err := range errs {
		switch {
		case err == nil:
			a.known.expected.expect(pods[i], deleted, a.o.now)
			a.r.alive.gone(client.ObjectKeyFromObject(a.o.podSet), pods[i].UID)
			a.out.deleted++
		case apierrors.IsConflict(err):
			a.out.stale = true
		case refused(err):
			a.refuse(reasonFailedDelete, pods[i].Name, err)
		default:
			a.fail(fmt.Errorf("deleting a Pod: %w", err))
		}
	}
}

// deletePod deletes the Pod as it was observed: not another one of that name, and not one that changed since.
func (a *applier) deletePod(ctx context.Context, pod *corev1.Pod) error {
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	return a.r.client.Delete(ctx, target, client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})
}

func (a *applier) fail(err error) {
	if a.out.err == nil {
		a.out.err = err
	}
}

// slowStart calls do for 0 to n-1 in batches of 1, 2, 4 and so on, and stops after a batch in which a call failed: what is
// refused once would most likely be refused each time. It returns the answers of the calls that were made. Answers that
// only say that somebody else was faster do not stop it. At most width calls run at the same time.
func slowStart(width, n int, do func(i int) error) []error {
	errs := make([]error, 0, n)
	for size := 1; len(errs) < n; size *= 2 {
		start := len(errs)
		size = min(size, n-start)
		errs = errs[:start+size]
		var calls errgroup.Group
		calls.SetLimit(width)
		for i := start; i < start+size; i++ {
			calls.Go(func() error {
				errs[i] = do(i)
				if apierrors.IsConflict(errs[i]) {
					return nil
				}
				return errs[i]
			})
		}
		if calls.Wait() != nil {
			break
		}
	}
	return errs
}
