package podset

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// gate delays the watch of one resource while it is closed.
type gate struct {
	resource string
	mu       sync.RWMutex
}

func (g *gate) close() { g.mu.Lock() }
func (g *gate) open()  { g.mu.Unlock() }

func (g *gate) option() option {
	return through(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			if err == nil && request.URL.Query().Get("watch") != "" && strings.HasSuffix(request.URL.Path, "/"+g.resource) {
				response.Body = &gatedBody{ReadCloser: response.Body, gate: g}
			}
			return response, err
		})
	})
}

type gatedBody struct {
	io.ReadCloser
	gate *gate
}

func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.gate.mu.RLock()
	defer b.gate.mu.RUnlock()
	return n, err
}

// onPost intercepts the creation of Pods.
func onPost(intercept func(next http.RoundTripper, request *http.Request) (*http.Response, error)) option {
	return through(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/pods") {
				return intercept(next, request)
			}
			return next.RoundTrip(request)
		})
	})
}

// TestLateCache is P-03.
func TestLateCache(t *testing.T) {
	pods := &gate{resource: "pods"}
	w := newWorld(t, pods.option())
	w.create(base("first", replicas(1)))
	w.settled("first")
	ofWeb := func(pod *corev1.Pod) bool { return pod.Labels[batchv1.LabelPodSet] == "web" }

	pods.close()
	w.create(base("web", replicas(5)))
	w.Eventually(func() []corev1.Pod { return w.pods(ofWeb) }).Should(HaveLen(5))
	w.Consistently(func() int { return w.answers.of("POST pods 201") }).
		WithTimeout(short(3*time.Second, 10*time.Minute)).Should(Equal(1 + 5))

	// Created and deleted unseen: replaced once.
	w.Expect(w.client.Delete(t.Context(), &w.pods(ofWeb)[0])).To(Succeed())
	w.Eventually(func() []corev1.Pod { return w.pods(ofWeb) }).Should(HaveLen(4))
	pods.open()
	w.settled("web")
	w.Consistently(func() int { return w.answers.of("POST pods 201") }).WithTimeout(2 * time.Second).Should(Equal(1 + 6))
}

// TestLostAnswer is P-04: the Pod was created, the answer was lost, and the cache does not show the Pod before the retry.
func TestLostAnswer(t *testing.T) {
	var lose atomic.Bool
	pods := &gate{resource: "pods"}
	w := newWorld(t, pods.option(), onPost(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(request)
		if err == nil && lose.CompareAndSwap(true, false) {
			response.Body.Close()
			return nil, errors.New("connection reset by the test")
		}
		return response, err
	}))
	w.create(base("first", replicas(1)))
	w.settled("first")
	ofWeb := func(pod *corev1.Pod) bool { return pod.Labels[batchv1.LabelPodSet] == "web" }

	pods.close()
	lose.Store(true)
	w.create(base("web"))
	w.Eventually(func() int { return w.answers.of("POST pods 409") }).Should(Equal(1), "the name is asked for again")
	w.Eventually(func() []corev1.Pod { return w.pods(ofWeb) }).Should(HaveLen(3))
	w.Consistently(func() []corev1.Pod { return w.pods(ofWeb) }).WithTimeout(2 * time.Second).Should(HaveLen(3))
	pods.open()
	w.settled("web")
	w.Expect(w.answers.with(http.MethodDelete)).To(BeZero(), "no surplus Pod had to be removed")
}

// TestNameTaken is P-04: somebody else has a Pod of that name.
func TestNameTaken(t *testing.T) {
	var posts atomic.Int32
	var w *world
	foreign := &corev1.Pod{}
	ready := make(chan struct{})
	w = newWorld(t, onPost(func(next http.RoundTripper, request *http.Request) (*http.Response, error) {
		<-ready
		if posts.Add(1) == 1 {
			raw, err := io.ReadAll(request.Body)
			if err != nil {
				return nil, err
			}
			request.Body = io.NopCloser(bytes.NewReader(raw))
			if foreign, err = takeName(w, request, raw); err != nil {
				return nil, err
			}
		}
		return next.RoundTrip(request)
	}))
	close(ready)
	w.create(base("web"))
	w.settled("web")
	w.Expect(w.pods(everyPod)).To(HaveLen(4))
	still := &corev1.Pod{}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(foreign), still)).To(Succeed())
	w.Expect(still.UID).To(Equal(foreign.UID))
	w.Expect(still.OwnerReferences).To(BeEmpty())
}

// takeName creates a foreign Pod under the name that the request wants.
func takeName(w *world, request *http.Request, raw []byte) (*corev1.Pod, error) {
	wanted := &corev1.Pod{}
	decoder := serializer.NewCodecFactory(testScheme()).UniversalDeserializer()
	if _, _, err := decoder.Decode(raw, nil, wanted); err != nil {
		return nil, err
	}
	foreign := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: wanted.Name}}
	foreign.Spec.Containers = []corev1.Container{{Name: "other", Image: "other"}}
	return foreign, w.client.Create(request.Context(), foreign)
}

// TestQuota is P-05.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "small"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
	w.Expect(w.client.Create(t.Context(), quota)).To(Succeed())
	w.Eventually(func() int {
		w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota)).To(Succeed())
		return len(quota.Status.Hard)
	}).ShouldNot(BeZero())

	w.create(base("web", replicas(50)))
	podSet := w.reaches("web", "refused", func(p *batchv1.PodSet) bool {
		return conditionOf(p, workloadv1.ConditionReplicaFailure).Status == metav1.ConditionTrue && p.Status.ReadyReplicas == 2
	})
	failure := conditionOf(podSet, workloadv1.ConditionReplicaFailure)
	w.Expect(failure.Reason).To(Equal(batchv1.ReasonFailedCreate))
	w.Expect(failure.Message).To(ContainSubstring("exceeded quota: small"))
	w.Expect(failure.Message).NotTo(MatchRegexp(`web-pod-[a-z0-9]`))
	w.Expect(podSet.Status.ObservedGeneration).To(Equal(podSet.Generation))
	w.Consistently(func() int { return w.answers.of("POST pods 403") }).WithTimeout(10 * time.Second).Should(BeNumerically("<", 20))

	// There is room for more than 50, because under a storm of creations Kubernetes sometimes counts a Pod that does not exist
	// ("used: pods=50" of 49), and looks again only after five minutes.
	raised := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"hard":{"pods":"55"}}}`))
	w.Expect(w.client.Patch(t.Context(), quota, raised)).To(Succeed())
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	w.settled("web")
	w.Expect(conditionOf(w.read("web"), workloadv1.ConditionReplicaFailure)).To(BeZero())
}

// TestFailingAtOnce is P-06; the exact delays are those of TestFailures.
func TestFailingAtOnce(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", podAnnotation(controlplane.AnnotationBehaviour, controlplane.BehaviourFail)))
	begin := time.Now()
	w.reaches("web", "backing off", func(p *batchv1.PodSet) bool {
		return conditionOf(p, workloadv1.ConditionReady).Reason == batchv1.ReasonFailingPods && p.Status.FailedReplicas == 3
	})
	w.Expect(shown(t, "workload_operator_podsets_backing_off")).To(BeNumerically(">=", 1))
	w.Consistently(func() int { return len(w.pods(everyPod)) }).
		WithTimeout(short(7*time.Second, 5*time.Minute-time.Since(begin))).Should(BeNumerically("<=", 4))
	w.Expect(w.answers.of("POST pods 201")).To(BeNumerically("<=", short(6, 11)))
	t.Logf("%d Pods in %s", w.answers.of("POST pods 201"), time.Since(begin))
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.FailedPodsHistoryLimit = new(int32(0)) })
	w.Eventually(func() []corev1.Pod { return w.pods(finished) }).Should(BeEmpty())
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.PodAnnotations = nil })
	w.settled("web")
}

// TestNoAdoptionByTheDying is P-12.
func TestNoAdoptionByTheDying(t *testing.T) {
	podSets := &gate{resource: "podsets"}
	w := newWorld(t, podSets.option())
	podSet := w.create(base("web", replicas(1)))
	w.settled("web")
	w.quiet(time.Second)
	pod := w.pods(everyPod)[0]
	before := w.answers.with(http.MethodPatch)

	podSets.close()
	defer podSets.open()
	w.Expect(w.client.Delete(t.Context(), podSet, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	w.Eventually(func() []metav1.OwnerReference { return w.pods(everyPod)[0].OwnerReferences }).
		WithTimeout(90*time.Second).Should(BeEmpty(), "garbage collection learns about a new kind only twice a minute")
	w.Eventually(func() int { return w.answers.of("GET web 200") + w.answers.of("GET web 404") }).
		Should(BeNumerically(">=", 1), "a live read")
	w.Consistently(func() []metav1.OwnerReference { return w.pods(everyPod)[0].OwnerReferences }).
		WithTimeout(2 * time.Second).Should(BeEmpty())
	w.Expect(uids(w.pods(active))).To(ConsistOf(string(pod.UID)))
	w.Expect(w.answers.with(http.MethodPatch)).To(Equal(before))
	w.Expect(w.answers.with(http.MethodDelete)).To(BeZero())
}

// TestLateOwnStatus: the watch of PodSets does not show our own status. Nothing is written on the old one meanwhile.
func TestLateOwnStatus(t *testing.T) {
	podSets := &gate{resource: "podsets"}
	w := newWorld(t, podSets.option())
	w.create(base("web"))
	w.settled("web")
	w.quiet(500 * time.Millisecond)
	before := w.answers.of("PATCH status 200")

	podSets.close()
	w.changePod(w.pods(everyPod)[0], evict)
	w.Eventually(func() int { return w.answers.of("PATCH status 200") }).Should(Equal(before+1), "on a status that the cache has")
	w.changePod(w.pods(active)[1], evict)
	w.Consistently(func() int { return w.answers.of("PATCH status 409") }).WithTimeout(2 * time.Second).Should(BeZero())
	podSets.open()
	w.reaches("web", "both replaced", func(p *batchv1.PodSet) bool { return p.Status.FailedReplicas == 2 && p.Status.ReadyReplicas == 3 })
	w.Expect(w.answers.of("PATCH status 409")).To(BeZero())
}

// TestTerminatingOrphan: a Pod that nobody owns and that is going is neither adopted nor counted.
func TestTerminatingOrphan(t *testing.T) {
	w := newWorld(t)
	orphan := w.foreignPod("orphan", metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: w.configMap().Name, UID: w.configMap().UID,
	})
	w.changePod(*orphan, func(p *corev1.Pod) { p.Finalizers = []string{"example.net/hold"} })
	w.Expect(w.client.Delete(t.Context(), orphan)).To(Succeed())
	w.create(base("web"))
	status := w.settled("web").Status
	w.quiet(time.Second)
	w.Expect(status.TerminatingReplicas).To(BeZero())
	w.Expect(w.pods(everyPod)).To(HaveLen(4))
	still := &corev1.Pod{}
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(orphan), still)).To(Succeed())
	w.Expect(still.OwnerReferences).To(Equal(orphan.OwnerReferences), "not adopted")
	w.changePod(*orphan, func(p *corev1.Pod) { p.Finalizers = nil })
}

// TestForegroundDeletion is P-17, also while the cache does not know about the deletion.
func TestForegroundDeletion(t *testing.T) {
	for name, late := range map[string]bool{"in time": false, "late cache": true} {
		t.Run(name, func(t *testing.T) {
			podSets := &gate{resource: "podsets"}
			w := newWorld(t, podSets.option())
			podSet := w.create(base("web", podAnnotation("plane.workload.example.com/terminate-after", "2s")))
			w.settled("web")
			if late {
				podSets.close()
				defer podSets.open()
			}
			before := w.answers.with(http.MethodPost)
			w.Expect(w.client.Delete(t.Context(), podSet, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
			// Garbage collection learns about a new kind only twice a minute.
			w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).WithTimeout(90 * time.Second).Should(BeEmpty())
			w.Consistently(func() []corev1.Pod { return w.pods(everyPod) }).WithTimeout(time.Second).Should(BeEmpty())
			w.Expect(w.answers.of("POST pods 201")).To(Equal(3))
			w.Expect(w.answers.with(http.MethodPost) - before).To(BeNumerically("<=", 1))
		})
	}
}

// TestNamespaceTerminating is P-17.
func TestNamespaceTerminating(t *testing.T) {
	w := newWorld(t)
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	n := short(200, 500)
	w.create(base("web", replicas(int32(n))))
	w.settled("web")
	events := w.answers.of("POST events 201") + w.answers.of("POST events 403")
	w.Expect(w.client.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.ns}})).To(Succeed())
	w.Eventually(func() error {
		return w.client.Get(t.Context(), client.ObjectKey{Name: w.ns}, &corev1.Namespace{})
	}).ShouldNot(Succeed())
	w.Expect(w.answers.of("POST pods 201")).To(Equal(n))
	w.Expect(w.answers.of("POST pods 403")).To(BeNumerically("<=", 1))
	w.Expect(w.answers.of("POST events 201")+w.answers.of("POST events 403")-events).To(BeNumerically("<=", 2), "no storm of events")
}

// TestSameNameNewObject is P-22.
func TestSameNameNewObject(t *testing.T) {
	w := newWorld(t)
	// The garbage collector looks for new kinds every 30 seconds, and knows nothing of ours when this test is the first.
	w.SetDefaultEventuallyTimeout(2 * time.Minute)
	old := w.create(base("web"))
	w.settled("web")
	former := uids(w.pods(everyPod))
	w.Expect(w.client.Delete(t.Context(), old, client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
	renewed := w.create(base("web"))
	w.settled("web")
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(HaveLen(3))
	for _, pod := range w.pods(everyPod) {
		w.Expect(former).NotTo(ContainElement(string(pod.UID)))
		w.Expect(ownedBy(&pod, renewed)).To(BeTrue())
	}
	w.Expect(w.answers.of("POST pods 201")).To(Equal(6))
	w.Expect(w.answers.with(http.MethodDelete)).To(BeZero(), "garbage collection takes the old Pods, not we")
}

// TestInvalidPod: what is refused as invalid stalls, and is not tried again and again.
func TestInvalidPod(t *testing.T) {
	w := newWorld(t)
	podSet := w.create(base("web", func(p *batchv1.PodSet) {
		p.Spec.NodeSelector = map[string]string{"not a label": "x"}
	}))
	w.reaches("web", "stalled", func(p *batchv1.PodSet) bool {
		stalled := conditionOf(p, workloadv1.ConditionStalled)
		return stalled.Status == metav1.ConditionTrue && stalled.Reason == workloadv1.ReasonInvalidSpec
	})
	w.Expect(conditionOf(w.read("web"), workloadv1.ConditionReconciling)).To(BeZero())
	w.change(podSet, func(p *batchv1.PodSet) { p.Spec.NodeSelector = nil })
	w.settled("web")
}

// TestLabelsRemoved: an admission plugin takes our labels off. Creating Pods that are never found again would not end.
func TestLabelsRemoved(t *testing.T) {
	w := newWorld(t)
	allow := w.admission(`[JSONPatch{op: "remove", path: "/metadata/labels/podset-name"}]`)
	w.create(base("web"))
	w.reaches("web", "refused", func(p *batchv1.PodSet) bool {
		return strings.Contains(conditionOf(p, workloadv1.ConditionReplicaFailure).Message, "labels")
	})
	w.Consistently(func() int { return w.answers.of("POST pods 201") }).WithTimeout(5 * time.Second).Should(BeNumerically("<=", 5))
	w.Eventually(func() []corev1.Pod { return w.pods(everyPod) }).Should(BeEmpty())
	allow()
	w.settled("web")
}

// admission changes every new Pod of the namespace, until the function that it returns is called. The expression is one of a
// MutatingAdmissionPolicy: a patch if it begins with a bracket, else a configuration to apply.
func (w *world) admission(expression string) (end func()) {
	w.t.Helper()
	policy := &admissionv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: w.ns}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		}}},
	}
	policy.Spec.ReinvocationPolicy = admissionv1.NeverReinvocationPolicy
	mutation := admissionv1.Mutation{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{Expression: expression}}
	if strings.HasPrefix(expression, "[") {
		mutation = admissionv1.Mutation{PatchType: admissionv1.PatchTypeJSONPatch, JSONPatch: &admissionv1.JSONPatch{Expression: expression}}
	}
	policy.Spec.Mutations = []admissionv1.Mutation{mutation}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: w.ns}}
	binding.Spec.PolicyName = policy.Name
	w.Expect(w.client.Create(w.t.Context(), policy)).To(Succeed())
	w.Expect(w.client.Create(w.t.Context(), binding)).To(Succeed())
	w.Eventually(func() map[string]string {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "probe", Labels: map[string]string{batchv1.LabelPodSet: "x"}}}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "probe"}}
		w.Expect(w.client.Create(w.t.Context(), pod, client.DryRunAll)).To(Succeed())
		return pod.Labels
	}).ShouldNot(Equal(map[string]string{batchv1.LabelPodSet: "x"}), "the policy is at work")
	return func() {
		w.Expect(w.client.Delete(w.t.Context(), binding)).To(Succeed())
		w.Expect(w.client.Delete(w.t.Context(), policy)).To(Succeed())
	}
}
