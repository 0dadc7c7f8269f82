package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const (
	deploymentRevision = "deployment.kubernetes.io/revision"
	changeCause        = "kubernetes.io/change-cause"
)

// Revision is one entry of a history.
type Revision struct {
	Revision string    `json:"revision"`
	Created  time.Time `json:"created"`
	Image    string    `json:"image"`
	Pods     int       `json:"pods"`
	Ready    int       `json:"ready"`
	Current  bool      `json:"current"`
	Cause    string    `json:"cause,omitempty"`
}

// History lists what is known of the revisions, the current one last.
func History(ctx context.Context, c client.Reader, t *Target) ([]Revision, error) {
	namespace := client.InNamespace(t.Object.GetNamespace())
	if t.Kind == PodSet {
		pods := &corev1.PodList{}
		if err := c.List(ctx, pods, namespace, client.MatchingLabels{batchv1.LabelPodSet: t.Object.GetName()}); err != nil {
			return nil, fmt.Errorf("listing the Pods of %s: %w", t.Name(), err)
		}
		return ofPods(t, pods.Items), nil
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := c.List(ctx, list, namespace, client.MatchingLabels{appv1.LabelWebApp: t.Object.GetName()}); err != nil {
			return nil, fmt.Errorf("listing the ReplicaSets of %s: %w", t.Name(), err)
		}
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; metav1.IsControlledBy(d, t.Object) {
			return ofReplicaSets(d, sets.Items), nil
		}
	}
	return nil, nil
}

// ofReplicaSets is the history that the Deployment keeps.
func ofReplicaSets(d *appsv1.Deployment, sets []appsv1.ReplicaSet) []Revision {
	var all []Revision
	for i := range sets {
		rs := &sets[i]
		if !metav1.IsControlledBy(rs, d) {
			continue
		}
		all = append(all, Revision{
			Revision: rs.Annotations[deploymentRevision], Created: rs.CreationTimestamp.Time, Image: imageOf(&rs.Spec.Template.Spec),
			Pods: int(rs.Status.Replicas), Ready: int(rs.Status.ReadyReplicas), Cause: rs.Annotations[changeCause],
			Current: rs.Annotations[deploymentRevision] == d.Annotations[deploymentRevision],
		})
	}
	number := func(r Revision) int {
		n, err := strconv.Atoi(r.Revision)
		if err != nil {
			return 0
		}
		return n
	}
	slices.SortFunc(all, func(a, b Revision) int { return number(a) - number(b) })
	return all
}

// ofPods has the revisions of Pods that are there; the others are forgotten.
func ofPods(t *Target, pods []corev1.Pod) []Revision {
	byName := map[string]*Revision{}
	for i := range pods {
		pod := &pods[i]
		if !metav1.IsControlledBy(pod, t.Object) {
			continue
		}
		name := pod.Labels[batchv1.LabelRevision]
		r := byName[name]
		if r == nil {
			r = &Revision{Revision: name, Created: pod.CreationTimestamp.Time, Current: name == t.current}
			byName[name] = r
		}
		if pod.CreationTimestamp.Time.Before(r.Created) {
			r.Created = pod.CreationTimestamp.Time
		}
		r.Image = imageOf(&pod.Spec)
		r.Pods++
		if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
			r.Ready++
		}
	}
	var all []Revision
	for _, r := range byName {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Revision) int {
		if a.Current != b.Current {
			return map[bool]int{false: -1, true: 1}[a.Current]
		}
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Revision, b.Revision))
	})
	return all
}

func imageOf(spec *corev1.PodSpec) string {
	for _, container := range spec.Containers {
		if container.Name == workloadv1.ContainerName {
			return container.Image
		}
	}
	return ""
}
