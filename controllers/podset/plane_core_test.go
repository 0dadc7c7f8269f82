package podset

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// TestSample is P-01.
func TestSample(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("podset-sample"))
	status := w.settled("podset-sample").Status

	pods := w.pods(everyPod)
	w.Expect(pods).To(HaveLen(3))
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name)
		w.Expect(pod.Name).To(MatchRegexp(`^podset-sample-pod-[a-z0-9]{5}$`))
		w.Expect(pod.Labels).To(HaveKeyWithValue("podset-name", "podset-sample"))
		w.Expect(pod.Labels).To(HaveKeyWithValue(workloadv1.LabelManagedBy, workloadv1.ManagedBy))
		w.Expect(pod.Labels).To(HaveKeyWithValue(batchv1.LabelRevision, status.CurrentRevision))
		w.Expect(pod.Spec.Containers).To(HaveLen(1))
		w.Expect(pod.Spec.Containers[0].Name).To(Equal("app"))
		w.Expect(pod.OwnerReferences).To(Equal([]metav1.OwnerReference{{
			APIVersion: "batch.example.com/v1", Kind: "PodSet", Name: "podset-sample", UID: podSet.UID,
			Controller: new(true), BlockOwnerDeletion: new(true),
		}}))
	}
	slices.Sort(names)
	w.Expect(status.PodNames).To(Equal(names))
	w.Expect(status.Selector).To(Equal("podset-name=podset-sample"))
	w.Expect(status.ReadyReplicas).To(Equal(int32(3)))
	w.Expect(status.AvailableReplicas).To(Equal(int32(3)))
	w.Expect(status.UpdatedReplicas).To(Equal(int32(3)))
	w.quiet(3 * time.Second)
	before := w.requests.Load()
	for i := range 10 {
		for _, pod := range pods {
			w.changePod(pod, func(p *corev1.Pod) { p.Labels["touched"] = fmt.Sprint(i) })
		}
	}
	w.quiet(time.Second)
	w.Expect(w.requests.Load()).To(Equal(before), "passes with nothing to do send nothing")
	w.Expect(w.events()).To(ContainElement(HaveField("Note", "Created 3 Pods.")))
}

// TestHealAndScale is P-02.
func TestHealAndScale(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")

	pods := w.pods(everyPod)
	w.Expect(w.client.Delete(t.Context(), &pods[0])).To(Succeed())
	w.Eventually(func() []string { return uids(w.pods(active)) }).Should(And(HaveLen(3), Not(ContainElement(string(pods[0].UID)))))
	w.Expect(uids(w.pods(active))).To(ContainElements(string(pods[1].UID), string(pods[2].UID)))

	former := uids(w.pods(active))
	for _, n := range []int32{8, 2} {
		w.change(podSet, replicas(n))
		w.settled("web")
		now := uids(w.pods(active))
		w.Expect(now).To(HaveLen(int(n)))
		if n == 8 {
			w.Expect(now).To(ContainElements(former))
		} else {
			w.Expect(former).To(ContainElements(now), "the Pods that remain are among those that were there")
		}
		former = now
	}
}

// TestAutoscalerAndBudget is P-19: both go through /scale.
func TestAutoscalerAndBudget(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}}
	budget.Spec.MaxUnavailable = new(intstr.FromString("34%"))
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: selectorOf(podSet)}
	w.Expect(w.client.Create(t.Context(), budget)).To(Succeed())
	autoscaler := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "web"}}
	autoscaler.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "batch.example.com/v1", Kind: "PodSet", Name: "web"}
	autoscaler.Spec.MinReplicas, autoscaler.Spec.MaxReplicas = new(int32(5)), 8
	w.Expect(w.client.Create(t.Context(), autoscaler)).To(Succeed())

	// The autoscaler brings the PodSet to its minimum; then a percentage of 5 may be away, rounded up to 2.
	// The controllers of Kubernetes learn about a new kind only twice a minute.
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	w.reaches("web", "scaled by the autoscaler", func(p *batchv1.PodSet) bool { return *p.Spec.Replicas == 5 && p.Status.ReadyReplicas == 5 })
	w.Eventually(func() policyv1.PodDisruptionBudgetStatus {
		w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(budget), budget)).To(Succeed())
		return budget.Status
	}).Should(And(HaveField("ExpectedPods", int32(5)), HaveField("DisruptionsAllowed", int32(2))))

	scale := &autoscalingv1.Scale{}
	w.Expect(w.client.SubResource("scale").Get(t.Context(), podSet, scale)).To(Succeed())
	w.Expect(scale.Status).To(Equal(autoscalingv1.ScaleStatus{Replicas: 5, Selector: "podset-name=web"}))
	w.Expect(w.client.Delete(t.Context(), autoscaler)).To(Succeed())
	scale.Spec.Replicas = 3
	w.Expect(w.client.SubResource("scale").Update(t.Context(), podSet, client.WithSubResourceBody(scale))).To(Succeed())
	w.reaches("web", "scaled", func(p *batchv1.PodSet) bool { return p.Status.ReadyReplicas == 3 && p.Status.Replicas == 3 })
	w.allowsOne(podSet)
}

// allowsOne: a budget in Pods allows one disruption of three.
func (w *world) allowsOne(podSet *batchv1.PodSet) {
	w.t.Helper()
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "one"}}
	budget.Spec.MaxUnavailable = new(intstr.FromInt32(1))
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: selectorOf(podSet)}
	w.Expect(w.client.Create(w.t.Context(), budget)).To(Succeed())
	w.Eventually(func() policyv1.PodDisruptionBudgetStatus {
		w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(budget), budget)).To(Succeed())
		return budget.Status
	}).WithTimeout(2 * time.Minute).Should(And(HaveField("ExpectedPods", int32(3)), HaveField("DisruptionsAllowed", int32(1))))
	w.Expect(w.client.Delete(w.t.Context(), budget)).To(Succeed())
}

// TestEvicted is P-07.
func TestEvicted(t *testing.T) {
	w := newWorld(t)
	w.create(base("web"))
	w.settled("web")
	w.changePod(w.pods(everyPod)[0], evict)
	status := w.reaches("web", "replaced", func(p *batchv1.PodSet) bool {
		return p.Status.FailedReplicas == 1 && p.Status.ReadyReplicas == 3
	}).Status
	w.Expect(status.Replicas).To(Equal(int32(3)))
	w.Expect(w.pods(everyPod)).To(HaveLen(4))
}

func evict(pod *corev1.Pod) {
	pod.Status.Phase = corev1.PodFailed
	pod.Status.Reason = "Evicted"
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Status = corev1.ConditionFalse
		pod.Status.Conditions[i].LastTransitionTime = metav1.Now()
	}
}

// TestStuckTerminating is P-08.
func TestStuckTerminating(t *testing.T) {
	for policy, replaced := range map[batchv1.PodReplacementPolicy]bool{
		"":                                 true,
		batchv1.ReplaceTerminatingOrFailed: true,
		batchv1.ReplaceFailed:              false,
	} {
		t.Run("policy "+string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.create(base("web", func(p *batchv1.PodSet) { p.Spec.PodReplacementPolicy = policy }))
			w.settled("web")
			stuck := w.pods(everyPod)[0]
			w.changePod(stuck, func(p *corev1.Pod) { p.Finalizers = []string{"example.net/hold"} })
			w.Expect(w.client.Delete(t.Context(), &stuck)).To(Succeed())

			want := int32(2)
			if replaced {
				want = 3
			}
			is := func(p *batchv1.PodSet) bool {
				return p.Status.TerminatingReplicas == 1 && p.Status.ReadyReplicas == want && p.Status.Replicas == want
			}
			w.reaches("web", "terminating apart", is)
			w.Consistently(func() bool { return is(w.read("web")) }).WithTimeout(2 * time.Second).Should(BeTrue())

			w.changePod(stuck, func(p *corev1.Pod) { p.Finalizers = nil })
			w.reaches("web", "replaced", func(p *batchv1.PodSet) bool {
				return p.Status.TerminatingReplicas == 0 && p.Status.ReadyReplicas == 3
			})
		})
	}
}

// TestPausedAndSuspended is P-15.
func TestPausedAndSuspended(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	before := uids(w.pods(active))

	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Paused, p.Spec.Image = true, "nginx:1.29" })
	w.reaches("web", "paused", func(p *batchv1.PodSet) bool {
		return conditionOf(p, workloadv1.ConditionReady).Reason == batchv1.ReasonPaused && p.Status.UpdatedReplicas == 0
	})
	w.Expect(uids(w.pods(active))).To(ConsistOf(before))
	w.change(podSet, replicas(4))
	w.reaches("web", "scaled while paused", func(p *batchv1.PodSet) bool { return p.Status.ReadyReplicas == 4 })
	w.Expect(uids(w.pods(active))).To(ContainElements(before))
	w.Expect(w.client.Delete(t.Context(), new(w.pods(active)[0]))).To(Succeed())
	w.reaches("web", "healed while paused", func(p *batchv1.PodSet) bool { return p.Status.ReadyReplicas == 4 })

	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Suspend = true })
	suspended := w.settled("web")
	w.Expect(w.pods(everyPod)).To(BeEmpty())
	w.Expect(*suspended.Spec.Replicas).To(Equal(int32(4)))
	w.Expect(conditionOf(suspended, workloadv1.ConditionReady).Reason).To(Equal(workloadv1.ReasonSuspended))
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Suspend = false })
	w.settled("web")
	w.Expect(w.pods(active)).To(HaveLen(4))
}

// TestLongList is P-18.
func TestLongList(t *testing.T) {
	w := newWorld(t)
	w.create(base("web", replicas(250)))
	podSet := w.settled("web")
	w.Expect(podSet.Status.PodNames).To(HaveLen(100))
	w.Expect(podSet.Status.PodNamesOmitted).To(Equal(int32(150)))
	w.Expect(slices.IsSorted(podSet.Status.PodNames)).To(BeTrue())
	raw, err := json.Marshal(podSet.Status)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(len(raw)).To(BeNumerically("<", 16<<10))
}

// TestMinReadySeconds is P-21.
func TestMinReadySeconds(t *testing.T) {
	w := newWorld(t)
	seconds := short(6, 30) // long enough for a slow machine to look before it is over
	w.create(base("web", replicas(1), func(p *batchv1.PodSet) { p.Spec.MinReadySeconds = int32(seconds) }))
	w.reaches("web", "ready", func(p *batchv1.PodSet) bool { return p.Status.ReadyReplicas == 1 })
	w.Expect(w.read("web").Status.AvailableReplicas).To(BeZero())
	w.quiet(500 * time.Millisecond)
	before := w.requests.Load()
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.settled("web")
	since, _ := readySince(&w.pods(everyPod)[0])
	w.Expect(time.Since(since)).To(BeNumerically("~", time.Duration(seconds)*time.Second, 3*time.Second))
	w.Expect(w.requests.Load()-before).To(Equal(int64(1)), "one wake-up, one write of the status")
}

// TestWorstPod is P-20: of two ready Pods, one in a crash loop and one that no node takes, the one in the crash loop speaks.
func TestWorstPod(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", func(p *batchv1.PodSet) {
		p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: batchv1.OnDeleteStrategy}
	}))
	w.settled("web")
	w.change(podSet, func(p *batchv1.PodSet) {
		p.Spec.Replicas, p.Spec.NodeSelector = new(int32(4)), map[string]string{"no-such": "node"}
	})
	says := func(reason string) string {
		return conditionOf(w.reaches("web", reason, func(p *batchv1.PodSet) bool {
			return conditionOf(p, workloadv1.ConditionReady).Reason == reason
		}), workloadv1.ConditionReady).Message
	}
	says("Unschedulable")
	w.changePod(w.pods(ready)[0], func(p *corev1.Pod) {
		p.Annotations = map[string]string{controlplane.AnnotationBehaviour: controlplane.BehaviourCrashLoop}
	})
	message := says("CrashLoopBackOff")
	w.Expect(message).NotTo(ContainSubstring("web-pod-"))
	w.Consistently(func() string { return conditionOf(w.read("web"), workloadv1.ConditionReady).Message }).
		WithTimeout(short(4*time.Second, 10*time.Minute)).Should(Equal(message))
}

// TestInjectedPods is P-16: what admission adds to a Pod, and what others change of it, is no difference.
func TestInjectedPods(t *testing.T) {
	w := newWorld(t)
	w.admission(`Object{
		metadata: Object.metadata{labels: {"mesh": "on"}},
		spec: Object.spec{
			containers: [Object.spec.containers{name: "sidecar", image: "mesh:1"}],
			volumes: [Object.spec.volumes{name: "mesh", emptyDir: Object.spec.volumes.emptyDir{}}]
		}
	}`)
	podSet := w.create(base("web", func(p *batchv1.PodSet) {
		p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: batchv1.InPlaceStrategy}
	}))
	w.settled("web")
	before := uids(w.pods(active))
	w.Expect(before).To(HaveLen(3))
	for _, pod := range w.pods(active) {
		w.Expect(pod.Spec.Volumes).To(HaveLen(1))
		w.changePod(pod, func(p *corev1.Pod) { p.Spec.Containers[appOf(p)].Image = "mirror/nginx:alpine" })
	}
	w.settled("web")
	w.quiet(2 * time.Second)
	w.Expect(uids(w.pods(active))).To(ConsistOf(before))
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"mirror/nginx:alpine": 3}))
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "nginx:1.29" })
	w.reaches("web", "updated", func(p *batchv1.PodSet) bool { return p.Status.UpdatedReplicas == 3 })
	w.settled("web")
	w.Expect(uids(w.pods(active))).To(ConsistOf(before))
	w.Expect(imagesOf(w.pods(active))).To(Equal(map[string]int{"nginx:1.29": 3}))
	for _, pod := range w.pods(active) {
		w.Expect(pod.Labels).To(HaveKeyWithValue("mesh", "on"))
		w.Expect(pod.Spec.Containers).To(ContainElement(And(HaveField("Name", "sidecar"), HaveField("Image", "mesh:1"))))
	}
}

// TestFirstInstant: a reader that comes before the controller is told that nothing was observed yet.
func TestFirstInstant(t *testing.T) {
	w := newWorld(t)
	w.halt()
	w.create(base("web"))
	w.Expect(w.read("web").Status.ObservedGeneration).To(Equal(int64(-1)))
	w.start()
	w.settled("web")
}

// TestRestart: a new operator finds everything as it should be and writes nothing.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	w.create(base("web"))
	before := w.settled("web")
	pods := w.pods(everyPod)
	w.halt()
	w.start()
	w.Consistently(func() []string { return uids(w.pods(everyPod)) }).WithTimeout(2 * time.Second).Should(ConsistOf(uids(pods)))
	w.Expect(w.read("web").ResourceVersion).To(Equal(before.ResourceVersion))
}
