package webapp

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// TestAutoscaledBeyondTheLimit is what `kubectl autoscale webapp my-app --max=15` leads to: the API server refuses a scale
// above 10, and Ready says why nothing happens.
func TestAutoscaledBeyondTheLimit(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 15,
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "app.example.com/v1", Kind: "WebApp", Name: "my-app"}}
	p.create(hpa)
	const sentence = "The HorizontalPodAutoscaler theirs allows 15 replicas, and a WebApp has at most 10."
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		ready := condition(w, workloadv1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(ready.Message).To(ContainSubstring(sentence))
	})
	edit(p, "theirs", func(a *autoscalingv2.HorizontalPodAutoscaler) { a.Spec.MaxReplicas = 10 })
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionReady).Message).NotTo(ContainSubstring("theirs"))
	})
}

// TestUnschedulable is W-13 for Pods that no node takes: the scheduler's verdict is in Ready.
func TestUnschedulable(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) { w.Spec.NodeSelector = map[string]string{"no": "such-node"} }))
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		ready := condition(w, workloadv1.ConditionReady)
		g.Expect(ready.Reason).To(Equal("Unschedulable"))
		g.Expect(ready.Message).To(ContainSubstring("didn't match Pod's node affinity/selector"))
		g.Expect(ready.Message).NotTo(ContainSubstring("my-app-deploy-"), "no generated names")
	})
}

// TestCrashLoop is W-13 for Pods that exit: the exit code is in Ready, and restarts change nothing.
func TestCrashLoop(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) {
		w.Spec.PodAnnotations = map[string]string{
			controlplane.AnnotationBehaviour: controlplane.BehaviourCrashLoop, controlplane.AnnotationExitCode: "3"}
	}))
	crashing := func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionReady).Message).To(ContainSubstring("The container keeps exiting, last with code 3."))
	}
	p.becomes(crashing)
	p.settles()
	start := p.now()
	p.Consistently(func() []string { return p.requests(start) }, 4*time.Second, 500*time.Millisecond).Should(BeEmpty(), "restarts are no news")
	p.becomes(crashing)
}

// TestLongestName runs a WebApp whose name is as long as the API allows, with every child.
func TestLongestName(t *testing.T) {
	p := newPlace(t)
	w := sample(ask)
	w.Name = strings.Repeat("a", 59)
	p.create(w)
	p.Eventually(func() appv1.Phase { return fetch[appv1.WebApp](p, w.Name).Status.Phase }).Should(Equal(appv1.PhaseRunning))
}

// TestRestore is what a backup brings back: objects with new UIDs, whose fields the restoring client owns. Children that
// came without owners are taken over, and no Pod notices.
func TestRestore(t *testing.T) {
	p := newPlace(t)
	w := stored(func(w *appv1.WebApp) { w.Namespace = p.namespace })
	deployment := liveDeployment(t, w)
	service := asLive[corev1.Service](t, serviceFor(w))
	for _, child := range []client.Object{deployment, service} {
		child.SetUID("")
		child.SetResourceVersion("")
		child.SetManagedFields(nil)
		child.SetOwnerReferences(nil)
		p.create(child)
	}
	p.Eventually(func() int32 {
		return fetch[appsv1.Deployment](p, deployment.Name).Status.AvailableReplicas
	}).Should(Equal(int32(3)))
	before := p.uids()
	p.create(sample())
	p.runs()
	p.settles()
	for _, child := range []client.Object{fetch[appsv1.Deployment](p, deployment.Name), fetch[corev1.Service](p, service.Name)} {
		p.Expect(metav1.IsControlledBy(child, p.webApp())).To(BeTrue())
	}
	p.Expect(fetch[appsv1.Deployment](p, deployment.Name).Generation).To(Equal(int64(1)))
	p.Expect(p.uids()).To(Equal(before))
	p.Eventually(p.events).Should(ConsistOf("Normal Adopted", "Normal Adopted", "Normal Running"))

	// What the restoring client owned with us can still be changed and dropped.
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image, w.Spec.Port = "nginx:1.26", 8080 })
	p.runs()
	p.Expect(fetch[corev1.Service](p, service.Name).Spec.Ports).To(HaveLen(1))
	p.Expect(fetch[corev1.Service](p, service.Name).Spec.Ports[0].TargetPort).To(Equal(intstr.FromInt32(8080)))
	p.Expect(fetch[appsv1.Deployment](p, deployment.Name).Spec.Template.Spec.Containers[0].Ports).To(HaveLen(1))
}

// TestRestoreWithOldOwners is W-09 with owner references of the former WebApp: the garbage collector takes these
// children, because their owner is gone for good, and then ours are created.
func TestRestoreWithOldOwners(t *testing.T) {
	p := newPlace(t)
	p.awaitCollector()
	old := stored(func(w *appv1.WebApp) { w.Namespace = p.namespace })
	deployment := liveDeployment(t, old)
	deployment.UID, deployment.ResourceVersion, deployment.ManagedFields = "", "", nil
	p.create(deployment)
	restored := deployment.UID
	p.create(sample())
	p.Eventually(func(g Gomega) {
		d := fetch[appsv1.Deployment](p, deployment.Name)
		g.Expect(d.UID).NotTo(BeEmpty())
		g.Expect(d.UID).NotTo(Equal(restored))
		g.Expect(metav1.IsControlledBy(d, p.webApp())).To(BeTrue())
	}, time.Minute).Should(Succeed())
	p.runs()
}

// uids are the UIDs of the WebApp's Pods by name.
func (p *place) uids() map[string]string {
	p.t.Helper()
	uids := map[string]string{}
	for _, pod := range p.podsOf("my-app") {
		uids[pod.Name] = string(pod.UID)
	}
	return uids
}
