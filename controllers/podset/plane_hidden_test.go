package podset

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

func hide(pod *corev1.Pod) { delete(pod.Labels, workloadv1.LabelManagedBy) }

// countLiveGets counts how often the manager reads a single Pod from the API server.
func countLiveGets(n *atomic.Int32) option {
	return through(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/pods/") {
				n.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
}

// allLabelled waits until the given Pods, and no others, exist and carry the label.
func (w *world) allLabelled(want []string) {
	w.t.Helper()
	labelled := func(p *corev1.Pod) bool { return p.Labels[workloadv1.LabelManagedBy] == workloadv1.ManagedBy }
	w.Eventually(func() []string { return uids(w.pods(labelled)) }).Should(ConsistOf(want))
	w.Expect(uids(w.pods(everyPod))).To(ConsistOf(want))
}

// TestManagedByTakenOff: the label that the cache is bounded by is put back (as W-03 has it for Deployments), in one read and
// one write, and the Pod is not replaced meanwhile.
func TestManagedByTakenOff(t *testing.T) {
	gets := &atomic.Int32{}
	w := newWorld(t, countLiveGets(gets))
	w.create(base("web"))
	w.settled("web")
	w.quiet(500 * time.Millisecond)
	before, patches := w.pods(everyPod), w.answers.with(http.MethodPatch)

	w.changePod(before[0], hide)
	w.allLabelled(uids(before))
	w.quiet(time.Second)
	w.Expect(gets.Load()).To(Equal(int32(1)))
	w.Expect(w.answers.with(http.MethodPatch)-patches).To(Equal(1), "the label, and no status")
	w.Expect(w.read("web").Status.ReadyReplicas).To(Equal(int32(3)))

	for _, pod := range before { // all at once, while passes are under way
		w.changePod(pod, hide)
	}
	w.allLabelled(uids(before))
	w.quiet(time.Second)
	w.Expect(w.answers.of("POST pods 201")).To(Equal(3), "none was replaced")
	w.Expect(w.answers.with(http.MethodDelete)).To(BeZero())
}

// TestManagedByTakenOffAndSuspended: a Pod without the label does not outlive a suspension.
func TestManagedByTakenOffAndSuspended(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web"))
	w.settled("web")
	w.changePod(w.pods(everyPod)[0], hide)
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Suspend = true })
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(BeEmpty())
	w.settled("web")
	w.Expect(w.answers.of("POST pods 201")).To(Equal(3))
}

// TestManagedByTakenOffAndDeleted is P-08 for a Pod that is out of sight: under podReplacementPolicy Failed it is not replaced before
// it is gone.
func TestManagedByTakenOffAndDeleted(t *testing.T) {
	pods := &gate{resource: "pods"}
	w := newWorld(t, pods.option())
	w.create(base("web", func(p *batchv1.PodSet) { p.Spec.PodReplacementPolicy = batchv1.ReplaceFailed }))
	w.settled("web")
	hidden := w.pods(everyPod)[0]
	pods.close() // so that the operator hears of the first change when the second has happened
	w.changePod(hidden, func(p *corev1.Pod) { hide(p); p.Finalizers = []string{"example.net/hold"} })
	w.Expect(w.client.Delete(t.Context(), &hidden)).To(Succeed())
	pods.open()
	w.reaches("web", "terminating", func(p *batchv1.PodSet) bool { return p.Status.TerminatingReplicas == 1 && p.Status.Replicas == 2 })
	w.quiet(time.Second)
	w.Expect(w.answers.of("POST pods 201")).To(Equal(3), "not replaced")
	w.changePod(hidden, func(p *corev1.Pod) { p.Finalizers = nil })
	w.settled("web")
	w.Expect(w.answers.of("POST pods 201")).To(Equal(4))
}

// TestManagedByTakenOffBetween: the label goes while no operator runs.
func TestManagedByTakenOffBetween(t *testing.T) {
	w := newWorld(t)
	w.create(base("web"))
	w.settled("web")
	before := w.pods(everyPod)
	w.halt()
	w.changePod(before[1], hide)
	w.start()
	w.allLabelled(uids(before))
	w.quiet(time.Second)
	w.Expect(w.answers.of("POST pods 201")).To(Equal(3))
}

// TestBothLabelsTakenOff: without the other label too, a Pod is released as in P-13.
func TestBothLabelsTakenOff(t *testing.T) {
	w := newWorld(t)
	w.create(base("web"))
	w.settled("web")
	debugged := w.pods(everyPod)[0]
	w.changePod(debugged, func(p *corev1.Pod) { p.Labels = nil })
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(HaveLen(4))
	w.settled("web")
	w.Expect(client.IgnoreNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(&debugged), &debugged))).To(Succeed())
	w.Expect(debugged.OwnerReferences).To(BeEmpty())
	w.Expect(debugged.Labels).To(BeEmpty())
	w.Expect(active(&debugged)).To(BeTrue(), "it runs on")
}

// TestBothLabelsTakenOffBetween: the same while no operator runs. The label of the revision still tells that it was ours.
func TestBothLabelsTakenOffBetween(t *testing.T) {
	w := newWorld(t)
	w.create(base("web"))
	w.settled("web")
	w.halt()
	debugged := w.pods(everyPod)[0]
	w.changePod(debugged, func(p *corev1.Pod) { hide(p); delete(p.Labels, batchv1.LabelPodSet) })
	w.start()
	w.Eventually(func() []corev1.Pod { return w.pods(func(p *corev1.Pod) bool { return len(p.OwnerReferences) == 0 }) }).Should(HaveLen(1))
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(HaveLen(4))
	w.settled("web")
	w.Expect(client.IgnoreNotFound(w.client.Get(t.Context(), client.ObjectKeyFromObject(&debugged), &debugged))).To(Succeed())
	w.Expect(active(&debugged)).To(BeTrue(), "it runs on")
}

// TestDeletionsAskNothing: Pods that are deleted, by anybody, cost no read.
func TestDeletionsAskNothing(t *testing.T) {
	gets := &atomic.Int32{}
	w := newWorld(t, countLiveGets(gets))
	podSet := w.create(base("web", replicas(6)))
	w.settled("web")
	w.Expect(w.client.Delete(t.Context(), new(w.pods(active)[0]))).To(Succeed())
	w.Eventually(func() int { return w.answers.of("POST pods 201") }).Should(Equal(7))
	w.settled("web")
	w.change(podSet, replicas(2))
	w.settled("web")
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Image = "nginx:1.29" })
	w.settled("web")
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Suspend = true })
	w.settled("web")
	w.quiet(500 * time.Millisecond)
	w.Expect(gets.Load()).To(BeZero())

	// The API server marks a Pod as being deleted even if there is no grace period.
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.Suspend = false })
	w.settled("web")
	w.Expect(w.client.Delete(t.Context(), new(w.pods(active)[0]), client.GracePeriodSeconds(0))).To(Succeed())
	w.Eventually(func() int { return w.answers.of("POST pods 201") }).Should(Equal(7 + 2 + 2 + 1))
	w.settled("web")
	w.Expect(gets.Load()).To(BeZero())
}
