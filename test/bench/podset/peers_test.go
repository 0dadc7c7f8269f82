package podset

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/test/operator"
)

// peer is one of the two kinds that are compared.
type peer struct {
	name string // in metrics
	user string // of its controller, in the audit log
	make func(namespace, name string, replicas int32) client.Object
	got  func(client.Object) reported
}

// reported is what a status says.
type reported struct{ Replicas, Ready int32 }

const image = "nginx:alpine"

var podSets = peer{
	name: "PodSet",
	user: "system:serviceaccount:" + operator.Namespace + ":workload-operator-controller-manager",
	make: func(namespace, name string, replicas int32) client.Object {
		p := &batchv1.PodSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		p.Spec.Image, p.Spec.Replicas = image, &replicas
		return p
	},
	got: func(object client.Object) reported {
		s := object.(*batchv1.PodSet).Status
		return reported{s.Replicas, s.ReadyReplicas}
	},
}

// replicaSets make the same Pods as PodSets do.
var replicaSets = peer{
	name: "ReplicaSet",
	user: "system:serviceaccount:kube-system:replicaset-controller",
	make: func(namespace, name string, replicas int32) client.Object {
		r := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		labels := map[string]string{"set": name, "second": "label", "third": "label"}
		r.Spec.Replicas = &replicas
		r.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"set": name}}
		r.Spec.Template.Labels = labels
		r.Spec.Template.Spec = corev1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "app", Image: image,
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
			}},
		}
		return r
	},
	got: func(object client.Object) reported {
		s := object.(*appsv1.ReplicaSet).Status
		return reported{s.Replicas, s.ReadyReplicas}
	},
}

// sets are the objects of one kind that one measurement is about.
type sets struct {
	*rig
	peer
	namespace string
	objects   []client.Object
	pods      *podWatch
}

// begin makes a namespace and watches its Pods. It creates no sets.
func (r *rig) begin(p peer) *sets {
	r.b.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "bench-" + strings.ToLower(p.name) + "-"}}
	r.check(r.client.Create(r.b.Context(), namespace))
	return &sets{rig: r, peer: p, namespace: namespace.Name, pods: r.watch(namespace.Name)}
}

// create makes n sets of so many replicas each.
func (s *sets) create(n int, replicas int32) {
	s.b.Helper()
	s.check(parallel(n, func(i int) error {
		return s.client.Create(s.b.Context(), s.make(s.namespace, "set-"+strconv.Itoa(i), replicas))
	}))
	for i := range n {
		s.objects = append(s.objects, s.make(s.namespace, "set-"+strconv.Itoa(i), replicas))
	}
}

func (s *sets) scale(replicas int32) {
	s.b.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	for _, object := range s.objects {
		s.check(s.client.Patch(s.b.Context(), object.DeepCopyObject().(client.Object), patch))
	}
}

// awaitReported waits until each status says that so many Pods exist and are ready.
func (s *sets) awaitReported(replicas int32) {
	s.b.Helper()
	want := reported{replicas, replicas}
	for _, object := range s.objects {
		s.eventually(fmt.Sprintf("%s reports %d ready Pods", s.name, replicas), func() bool {
			s.check(s.client.Get(s.b.Context(), client.ObjectKeyFromObject(object), object))
			return s.got(object) == want
		})
	}
}

// end removes everything, so that the next measurement has the plane for itself.
func (s *sets) end() {
	s.b.Helper()
	ctx := s.b.Context()
	for _, object := range s.objects {
		s.check(s.client.Delete(ctx, object, client.PropagationPolicy(metav1.DeletePropagationOrphan)))
	}
	for _, object := range s.objects {
		s.eventually("the sets are gone", func() bool {
			return client.IgnoreNotFound(s.client.Get(ctx, client.ObjectKeyFromObject(object), object)) == nil &&
				s.client.Get(ctx, client.ObjectKeyFromObject(object), object) != nil
		})
	}
	s.eventually("the API server has deleted the Pods", func() bool { // thousands take longer than one request may
		return s.core.CoreV1().Pods(s.namespace).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}) == nil
	})
	s.pods.await("all Pods are gone", func(c counts) bool { return c.existing == 0 })
	s.pods.stop()
	s.check(s.core.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), s.namespace, metav1.DeleteOptions{}))
}
