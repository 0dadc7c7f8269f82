package webapp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// TestImagePull is W-13.
func TestImagePull(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	edit(p, "my-app", func(w *appv1.WebApp) {
		w.Spec.Image, w.Spec.ProgressDeadlineSeconds = "registry.invalid/web:2", new(int32(4))
	})
	generation := p.webApp().Generation
	p.Eventually(func(g Gomega) {
		w := p.webApp()
		if w.Status.ObservedGeneration == generation && w.Status.Phase == appv1.PhaseRunning {
			StopTrying("Running for a generation that cannot run").Now()
		}
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseFailed))
	}).Should(Succeed())
	w := p.webApp()
	ready := condition(w, workloadv1.ConditionReady)
	p.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
	p.Expect(ready.Reason).To(Equal("ImagePullBackOff"))
	p.Expect(ready.Message).To(ContainSubstring("registry.invalid/web:2"))
	p.Expect(condition(w, workloadv1.ConditionStalled).Reason).To(Equal(appv1.ReasonProgressDeadlineExceeded))
	p.Expect(p.kstatus()).To(Equal(status.FailedStatus))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	p.Expect(p.kstatus()).To(Equal(status.CurrentStatus))
	p.Eventually(func() []string { return p.events() }).Should(ContainElements("Normal Running", "Warning Failed"))
}

// kstatus is what tools that wait for objects in general think of the WebApp.
func (p *place) kstatus() status.Status {
	p.t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(appv1.GroupVersion.WithKind("WebApp"))
	p.Expect(p.client.Get(p.ctx, client.ObjectKey{Namespace: p.namespace, Name: "my-app"}, u)).To(Succeed())
	result, err := status.Compute(u)
	p.Expect(err).NotTo(HaveOccurred())
	return result.Status
}

// events are the events in the place that tell of the WebApp.
func (p *place) events() []string {
	p.t.Helper()
	var list eventsv1.EventList
	p.Expect(p.client.List(p.ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
	var out []string
	for _, e := range list.Items {
		if e.Regarding.Kind == "WebApp" {
			out = append(out, e.Type+" "+e.Reason)
		}
	}
	return out
}

// TestBrokenLater is W-14.
func TestBrokenLater(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) { w.Spec.ProgressDeadlineSeconds = new(int32(4)) }))
	p.runs()
	var pods corev1.PodList
	p.Expect(p.client.List(p.ctx, &pods, client.InNamespace(p.namespace))).To(Succeed())
	broken := time.Now()
	for i := range pods.Items {
		p.patch(&pods.Items[i], fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, controlplane.AnnotationBehaviour, controlplane.BehaviourCrashLoop))
	}
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(w.Status.Phase).To(Equal(appv1.PhasePending))
		g.Expect(condition(w, workloadv1.ConditionReady).Reason).To(Equal("CrashLoopBackOff"))
	})
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseFailed))
		g.Expect(condition(w, workloadv1.ConditionReady).Reason).To(Equal("CrashLoopBackOff"))
		g.Expect(condition(w, workloadv1.ConditionStalled).Reason).To(Equal(appv1.ReasonUnavailable))
	})
	p.Expect(time.Since(broken)).To(BeNumerically(">", 3*time.Second))
	for i := range pods.Items {
		p.patch(&pods.Items[i], fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, controlplane.AnnotationBehaviour))
	}
	p.runs()
}

// TestForegroundDeletion is W-17.
func TestForegroundDeletion(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) {
		w.Spec.PodAnnotations = map[string]string{controlplane.AnnotationTerminateAfter: "3s"}
	}))
	p.runs()
	p.awaitCollector()
	start := p.now()
	p.Expect(p.client.Delete(p.ctx, p.webApp(), client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	p.Eventually(func() string { return p.webApp().Name }).Should(BeEmpty())
	ofProbe := func(request string) bool { return strings.Contains(request, " probe") } // of awaitCollector, which may end late
	p.Expect(slices.DeleteFunc(p.requests(start), ofProbe)).To(BeEmpty())
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Name).To(BeEmpty())
}

// awaitCollector waits until the garbage collector knows the kind WebApp, which takes it up to 30 seconds.
func (p *place) awaitCollector() {
	p.t.Helper()
	owner := sample()
	owner.Name = "probe"
	p.create(owner)
	child := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "app.example.com/v1", Kind: "WebApp", Name: "probe", UID: owner.UID}}}}
	p.create(child)
	p.Expect(p.client.Delete(p.ctx, owner)).To(Succeed())
	p.Eventually(func() string { return fetch[corev1.ConfigMap](p, "probe").Name }, time.Minute).Should(BeEmpty())
}

// TestNamespaceTerminating is W-18.
func TestNamespaceTerminating(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		w := sample()
		w.Name = fmt.Sprintf("app-%d", i)
		p.create(w)
	}
	p.Eventually(func(g Gomega) {
		var list appv1.WebAppList
		g.Expect(p.client.List(p.ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
		for _, w := range list.Items {
			g.Expect(w.Status.Phase).To(Equal(appv1.PhaseRunning))
		}
	}, time.Minute).Should(Succeed())
	p.settles()
	start := p.now()
	p.Expect(p.client.Delete(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}})).To(Succeed())
	p.Eventually(func() error {
		return p.client.Get(p.ctx, client.ObjectKey{Name: p.namespace}, &corev1.Namespace{})
	}, time.Minute).ShouldNot(Succeed())
	// Each WebApp finds out by one refusal at most, and nothing is created after that.
	refused := map[string]int{}
	for _, r := range p.requests(start) {
		if !strings.HasPrefix(r, "patch webapps/status") {
			refused[r]++
		}
	}
	for request, times := range refused {
		p.Expect(times).To(Equal(1), request)
		p.Expect(request).To(HaveSuffix("403"))
	}
	_, err := p.plane.AuditLog.Read(start, func(r *controlplane.Request) {
		if r.UserAgent == operatorAgent && r.Namespace == p.namespace && r.Resource == "events" {
			t.Errorf("an event: %+v", r)
		}
	})
	p.Expect(err).NotTo(HaveOccurred())
}

// TestQuota is W-19.
func TestQuota(t *testing.T) {
	p := newPlace(t)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}
	p.create(quota)
	p.Eventually(func() bool { return fetch[corev1.ResourceQuota](p, "small").Status.Hard != nil }).Should(BeTrue())
	p.create(sample())
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseFailed))
		ready := condition(w, workloadv1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		g.Expect(ready.Message).To(ContainSubstring("exceeded quota: small"))
		g.Expect(ready.Message).NotTo(ContainSubstring("my-app-deploy-"))
	})
	generation := p.webApp().Generation
	p.patch(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "small"}}, `{"spec":{"hard":{"pods":"9"}}}`)
	p.Eventually(func() appv1.Phase { return p.webApp().Status.Phase }, 2*time.Minute).Should(Equal(appv1.PhaseRunning))
	p.Expect(p.webApp().Generation).To(Equal(generation))
}

// TestFirstInstant is W-20: the answer to the create is what a reader sees before the reconciler ran.
func TestFirstInstant(t *testing.T) {
	p := newPlace(t)
	w := sample()
	p.create(w)
	p.Expect(w.Status.ObservedGeneration).To(Equal(int64(-1)))
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(w)
	p.Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{Object: raw}
	u.SetGroupVersionKind(appv1.GroupVersion.WithKind("WebApp"))
	result, err := status.Compute(u)
	p.Expect(err).NotTo(HaveOccurred())
	p.Expect(result.Status).To(Equal(status.InProgressStatus))
}

// TestInvalidSpec writes what no admission webhook stopped: the user learns it from the condition, and nothing is retried.
func TestInvalidSpec(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) { w.Spec.Image = "Web App:1" }))
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionStalled).Reason).To(Equal(workloadv1.ReasonInvalidSpec))
	})
	edit(p, "my-app", func(w *appv1.WebApp) {
		w.Spec.Image = "web:1"
		w.Spec.NodeSelector = map[string]string{"not a label!": "x"}
	})
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		stalled := condition(w, workloadv1.ConditionStalled)
		g.Expect(stalled.Reason).To(Equal(workloadv1.ReasonInvalidSpec))
		g.Expect(stalled.Message).To(ContainSubstring("nodeSelector"))
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseFailed))
	})
	p.settles()
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.NodeSelector = nil })
	p.runs()
}
