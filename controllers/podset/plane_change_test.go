package podset

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestPreferDelete is P-09 on the plane; the whole ranking is in TestPick.
func TestPreferDelete(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	pods := w.pods(active)
	w.change(podSet, func(p *batchv1.PodSet) {
		p.Spec.Replicas = new(int32(2))
		p.Spec.ScaleDown = &batchv1.ScaleDown{PreferDelete: []string{pods[1].Name, "no-such-pod"}}
	})
	podSet = w.settled("web")
	w.Expect(uids(w.pods(active))).To(ConsistOf(string(pods[0].UID), string(pods[2].UID)))
	w.Expect(podSet.Spec.ScaleDown.PreferDelete).To(Equal([]string{pods[1].Name, "no-such-pod"}))

	w.changePod(pods[0], func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.PodDeletionCost: "-5"} })
	w.change(podSet, replicas(1))
	w.settled("web")
	w.Expect(uids(w.pods(active))).To(ConsistOf(string(pods[2].UID)))
}

// TestSpread is P-10 on the plane: what remains of six Pods in three zones is one per zone.
func TestSpread(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", replicas(9), func(p *batchv1.PodSet) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		}}
	}))
	w.settled("web")
	for _, n := range []int32{6, 3} {
		w.change(podSet, replicas(n))
		w.settled("web")
		inZone := map[string]int{}
		for _, pod := range w.pods(active) {
			node := &corev1.Node{}
			w.Expect(w.client.Get(t.Context(), client.ObjectKey{Name: pod.Spec.NodeName}, node)).To(Succeed())
			inZone[node.Labels[corev1.LabelTopologyZone]]++
		}
		each := int(n) / 3
		w.Expect(inZone).To(Equal(map[string]int{"zone-a": each, "zone-b": each, "zone-c": each}))
	}
}

// TestOrphans is P-11.
func TestOrphans(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	before := uids(w.pods(active))
	foreign := w.foreignPod("foreign", metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: w.configMap().Name, UID: w.configMap().UID, Controller: new(true),
	})
	w.Expect(w.client.Delete(t.Context(), podSet, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	// Garbage collection learns about a new kind only twice a minute.
	w.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKeyFromObject(podSet), &batchv1.PodSet{})
	}).WithTimeout(90 * time.Second).ShouldNot(Succeed())

	renewed := w.create(base("web"))
	w.settled("web")
	w.Expect(uids(w.pods(func(p *corev1.Pod) bool { return ownedBy(p, renewed) }))).To(ConsistOf(before))
	w.Expect(w.answers.of("POST pods 201")).To(Equal(3))
	still := &corev1.Pod{}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), still)).To(Succeed())
	w.Expect(still.OwnerReferences).To(Equal(foreign.OwnerReferences))
	w.Expect(still.Labels).To(HaveKeyWithValue(batchv1.LabelPodSet, "web"))
}

// configMap exists so that garbage collection leaves what it owns alone.
func (w *world) configMap() *corev1.ConfigMap {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "owner"}}
	w.Expect(client.IgnoreAlreadyExists(w.client.Create(w.t.Context(), owner))).To(Succeed())
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(owner), owner)).To(Succeed())
	return owner
}

// foreignPod is a Pod with our labels and another controller.
func (w *world) foreignPod(name string, owner metav1.OwnerReference) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.ns, Name: name, OwnerReferences: []metav1.OwnerReference{owner},
		Labels: map[string]string{batchv1.LabelPodSet: "web", workloadv1.LabelManagedBy: workloadv1.ManagedBy},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "other"}}
	w.Expect(w.client.Create(w.t.Context(), pod)).To(Succeed())
	return pod
}

// TestLabelTakenOff is P-13.
func TestLabelTakenOff(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	debugged := w.pods(active)[0]
	w.changePod(debugged, func(p *corev1.Pod) { delete(p.Labels, batchv1.LabelPodSet) })
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(HaveLen(4))
	w.settled("web")
	released := w.pods(func(p *corev1.Pod) bool { return len(p.OwnerReferences) == 0 })
	w.Expect(uids(released)).To(ConsistOf(string(debugged.UID)))
	w.Expect(active(&released[0])).To(BeTrue(), "it runs on")

	w.changePod(debugged, func(p *corev1.Pod) { p.Labels[batchv1.LabelPodSet] = "web" })
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(HaveLen(3))
	for _, pod := range w.pods(everyPod) {
		w.Expect(ownedBy(&pod, podSet)).To(BeTrue())
	}
	w.settled("web")
	w.Expect(w.answers.of("POST pods 201")).To(Equal(4))
}

// TestRollingUpdate is P-14.
func TestRollingUpdate(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", replicas(5), podAnnotation("plane.workload.example.com/ready-after", "200ms")))
	w.settled("web")
	partition := func(n int32, image string) func(*batchv1.PodSet) {
		return func(p *batchv1.PodSet) {
			p.Spec.Image = image
			p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{RollingUpdate: &batchv1.RollingUpdate{
				MaxUnavailable: new(intstr.FromInt32(1)), Partition: &n,
			}}
		}
	}
	w.change(podSet, partition(2, "nginx:1.29"))
	lowest := 5
	w.Eventually(func() int32 {
		lowest = min(lowest, len(w.pods(func(p *corev1.Pod) bool { return active(p) && ready(p) })))
		return w.read("web").Status.UpdatedReplicas
	}).WithPolling(10 * time.Millisecond).Should(Equal(int32(3)))
	w.settled("web")
	w.Expect(lowest).To(BeNumerically(">=", 4))
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"nginx:alpine": 2, "nginx:1.29": 3}))
	w.quiet(time.Second)

	w.change(podSet, partition(0, "nginx:1.29"))
	w.settled("web")
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"nginx:1.29": 5}))
}

// TestBrokenRollout: an update that goes wrong stops at the first Pod, and its correction goes through.
func TestBrokenRollout(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "registry.invalid/web:2" })
	w.reaches("web", "image pull", func(p *batchv1.PodSet) bool {
		return conditionOf(p, workloadv1.ConditionReady).Reason == "ImagePullBackOff"
	})
	w.Consistently(func() int32 { return w.read("web").Status.AvailableReplicas }).WithTimeout(2 * time.Second).Should(Equal(int32(2)))
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "nginx:1.29" })
	w.settled("web")
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"nginx:1.29": 3}))
}

// TestInPlace is P-14.
func TestInPlace(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", func(p *batchv1.PodSet) {
		p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: batchv1.InPlaceStrategy}
	}))
	w.settled("web")
	before := uids(w.pods(active))
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "nginx:1.29" })
	w.reaches("web", "updated", func(p *batchv1.PodSet) bool { return p.Status.UpdatedReplicas == 3 })
	w.settled("web")
	w.Expect(uids(w.pods(active))).To(ConsistOf(before))
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"nginx:1.29": 3}))

	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Args = []string{"-v"} })
	w.settled("web")
	for _, uid := range uids(w.pods(active)) {
		w.Expect(before).NotTo(ContainElement(uid))
	}
}

// TestOnDelete is P-14.
func TestOnDelete(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", func(p *batchv1.PodSet) {
		p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: batchv1.OnDeleteStrategy}
	}))
	w.settled("web")
	before := w.pods(active)
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "nginx:1.29" })
	w.settled("web")
	w.quiet(time.Second)
	w.Expect(uids(w.pods(active))).To(ConsistOf(uids(before)))
	w.Expect(w.client.Delete(t.Context(), &before[0])).To(Succeed())
	w.reaches("web", "one updated", func(p *batchv1.PodSet) bool { return p.Status.UpdatedReplicas == 1 && p.Status.ReadyReplicas == 3 })
}

func imagesOf(pods []corev1.Pod) map[string]int {
	images := map[string]int{}
	for _, pod := range pods {
		images[pod.Spec.Containers[appOf(&pod)].Image]++
	}
	return images
}

// appOf is the place of our container among those that admission may have added.
func appOf(pod *corev1.Pod) int {
	return slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == workloadv1.ContainerName })
}
