package webapp

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// TestCreateOnly checks the platform facts that every write of this package relies on.
func TestCreateOnly(t *testing.T) {
	p := newPlace(t)
	config := func() *applycorev1.ConfigMapApplyConfiguration {
		return applycorev1.ConfigMap("c", p.namespace).WithData(map[string]string{"a": "1"})
	}
	send := func(c *applycorev1.ConfigMapApplyConfiguration) error {
		return p.client.Apply(p.ctx, c, client.FieldOwner("a"), client.ForceOwnership)
	}
	p.Expect(send(config().WithResourceVersion(noVersion))).To(Succeed(), "an object that is absent is created")
	first := fetch[corev1.ConfigMap](p, "c")
	p.Expect(first.ManagedFields).To(HaveLen(1))
	p.Expect(first.ManagedFields[0].Operation).To(Equal(metav1.ManagedFieldsOperationApply))

	err := send(config().WithResourceVersion(noVersion))
	p.Expect(apierrors.IsConflict(err)).To(BeTrue(), "an object that is there is left alone: %v", err)
	err = send(config().WithData(map[string]string{"a": "2"}).WithUID(first.UID).WithResourceVersion("2"))
	p.Expect(apierrors.IsConflict(err)).To(BeTrue(), "an object that has changed is left alone: %v", err)
	err = send(config().WithData(map[string]string{"a": "2"}).WithUID("other"))
	p.Expect(uidChanged(err)).To(BeTrue(), "an object that was replaced is left alone: %v", err)
	p.Expect(fetch[corev1.ConfigMap](p, "c").ResourceVersion).To(Equal(first.ResourceVersion))

	p.Expect(p.client.Delete(p.ctx, first)).To(Succeed())
	err = send(config().WithUID(first.UID).WithResourceVersion(first.ResourceVersion))
	p.Expect(apierrors.IsConflict(err)).To(BeTrue(), "an object that is gone is not created: %v", err)
}

// theirs is a Deployment that a user made.
func theirs(owners ...metav1.OwnerReference) *appsv1.Deployment {
	labels := map[string]string{"app": "theirs"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "my-app-deploy", OwnerReferences: owners}}
	d.Spec.Replicas = new(int32(0))
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "theirs", Image: "theirs:1"}}
	return d
}

// TestNotOwned is W-07.
func TestNotOwned(t *testing.T) {
	p := newPlace(t)
	p.create(theirs())
	p.Eventually(func() int64 { return fetch[appsv1.Deployment](p, "my-app-deploy").Status.ObservedGeneration }).Should(Equal(int64(1)))
	before := fetch[appsv1.Deployment](p, "my-app-deploy")
	p.create(sample())
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		stalled := condition(w, workloadv1.ConditionStalled)
		g.Expect(stalled.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(stalled.Reason).To(Equal(workloadv1.ReasonNotOwned))
		g.Expect(stalled.Message).To(ContainSubstring("Deployment my-app-deploy"))
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseFailed))
		g.Expect(w.Status.Replicas).To(BeZero())
	})
	p.settles()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy")).To(Equal(before))
	p.Expect(p.client.Delete(p.ctx, before)).To(Succeed())
	p.runs()
	p.Expect(condition(p.webApp(), workloadv1.ConditionStalled)).To(BeZero())
}

// TestOldOwner is W-09. The owner is one that the garbage collector cannot judge, so that the object stays.
func TestOldOwner(t *testing.T) {
	p := newPlace(t)
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "my-app"}}
	p.create(owner)
	d := theirs(metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "my-app", UID: owner.UID, Controller: new(true)})
	// It carries the labels of a child, as a restored one does.
	d.Labels = map[string]string{workloadv1.LabelManagedBy: workloadv1.ManagedBy, appv1.LabelWebApp: "my-app"}
	p.create(d)
	p.Eventually(func() int64 { return fetch[appsv1.Deployment](p, "my-app-deploy").Status.ObservedGeneration }).Should(Equal(int64(1)))
	before := fetch[appsv1.Deployment](p, "my-app-deploy")
	p.create(sample())
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionStalled).Reason).To(Equal(workloadv1.ReasonNotOwned))
		g.Expect(condition(w, workloadv1.ConditionStalled).Message).To(ContainSubstring(string(owner.UID)))
	})
	p.settles()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy")).To(Equal(before))
}

// TestOnlyOwnIsDeleted is W-08.
func TestOnlyOwnIsDeleted(t *testing.T) {
	p := newPlace(t)
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "my-app-hpa"}}
	hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "elsewhere"}}
	pdb := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "my-app-pdb"}}
	pdb.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "theirs"}}
	ing := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "my-app-ing"}}
	ing.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "theirs", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	for _, object := range []client.Object{hpa, pdb, ing} {
		p.create(object)
	}
	same := func() {
		t.Helper()
		p.Expect(fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa").Spec).To(Equal(hpa.Spec))
		p.Expect(fetch[policyv1.PodDisruptionBudget](p, "my-app-pdb").Spec).To(Equal(pdb.Spec))
		p.Expect(fetch[networkingv1.Ingress](p, "my-app-ing").ResourceVersion).To(Equal(ing.ResourceVersion))
		for _, object := range []client.Object{fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa"), fetch[policyv1.PodDisruptionBudget](p, "my-app-pdb")} {
			p.Expect(object.GetOwnerReferences()).To(BeEmpty())
			p.Expect(object.GetLabels()).To(BeEmpty())
		}
	}
	p.create(sample())
	p.runs()
	same()
	edit(p, "my-app", ask)
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		stalled := condition(w, workloadv1.ConditionStalled)
		g.Expect(stalled.Reason).To(Equal(workloadv1.ReasonNotOwned))
		for _, kind := range []string{"HorizontalPodAutoscaler", "PodDisruptionBudget", "Ingress"} {
			g.Expect(stalled.Message).To(ContainSubstring(kind))
		}
	})
	p.settles()
	same()
	edit(p, "my-app", unask)
	p.runs()
	same()
}

// ask makes a WebApp ask for every child there is.
func ask(w *appv1.WebApp) {
	w.Spec.Autoscaling = &appv1.Autoscaling{MinReplicas: new(int32(2)), MaxReplicas: 6, TargetCPUUtilizationPercentage: new(int32(50))}
	w.Spec.DisruptionBudget = &appv1.DisruptionBudget{MaxUnavailable: intstr.FromInt32(1)}
	w.Spec.Ingress = &appv1.IngressSettings{Host: "shop.example.com"}
}

func unask(w *appv1.WebApp) {
	w.Spec.Autoscaling, w.Spec.DisruptionBudget, w.Spec.Ingress = nil, nil, nil
}

// TestOwnAutoscaler is W-06, and removes every child that is no longer asked for.
func TestOwnAutoscaler(t *testing.T) {
	p := newPlace(t)
	p.create(sample(ask))
	p.runs()
	w := p.webApp()
	hpa := fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa")
	p.Expect(metav1.IsControlledBy(hpa, w)).To(BeTrue())
	p.Expect(hpa.Spec.ScaleTargetRef).To(Equal(autoscalingv2.CrossVersionObjectReference{APIVersion: "app.example.com/v1", Kind: "WebApp", Name: "my-app"}))
	p.Expect(metav1.IsControlledBy(fetch[networkingv1.Ingress](p, "my-app-ing"), w)).To(BeTrue())
	p.Expect(w.Status.URL).To(Equal("http://shop.example.com/"))

	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	p.Expect(p.client.SubResource("scale").Update(p.ctx, w, client.WithSubResourceBody(scale))).To(Succeed())
	p.runs()
	p.Expect(*fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Replicas).To(Equal(int32(5)))

	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Suspend = true })
	p.Eventually(func() string { return fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa").Name }).Should(BeEmpty())
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Suspend = false })
	p.Eventually(func() string { return fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa").Name }).ShouldNot(BeEmpty())

	edit(p, "my-app", unask)
	p.Eventually(func(g Gomega) {
		g.Expect(fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa").Name).To(BeEmpty())
		g.Expect(fetch[networkingv1.Ingress](p, "my-app-ing").Name).To(BeEmpty())
		g.Expect(p.budgets()).To(BeEmpty())
	}).Should(Succeed())
	p.runs()
	p.Expect(*fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Replicas).To(Equal(int32(5)))
}

// TestForeignAutoscaler is W-05. Without metrics the autoscaler does not act, so the test scales in its place, by the same
// request.
func TestForeignAutoscaler(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}
	hpa.Spec = autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: new(int32(3)), MaxReplicas: 9,
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "my-app-deploy"}}
	p.create(hpa)
	says := func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionReady).Message).To(ContainSubstring("HorizontalPodAutoscaler theirs"))
	}
	p.becomes(says)
	p.Expect(*fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Replicas).To(Equal(int32(3)), "the number must not fall to its default")

	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 7}}
	p.Expect(p.client.SubResource("scale").Update(p.ctx, fetch[appsv1.Deployment](p, "my-app-deploy"),
		client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager"))).To(Succeed())
	p.becomes(func(g Gomega, w *appv1.WebApp) { g.Expect(w.Status.AvailableReplicas).To(Equal(int32(7))) })
	p.runs()
	p.settles()
	start := p.now()
	for i := range 60 {
		p.annotate("example.com/touch", strings.Repeat("x", i))
	}
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	p.becomes(says)
	p.Expect(writes(p.requests(start), "deployments")).To(HaveLen(1))
	p.Expect(*fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Replicas).To(Equal(int32(7)))

	p.Expect(p.client.Delete(p.ctx, hpa)).To(Succeed())
	p.Eventually(func() int32 { return *fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Replicas }).Should(Equal(int32(3)))
	p.runs()
}

// TestOrphans deletes a WebApp with cascade=orphan and creates it again: its children are taken back, and no Pod notices.
func TestOrphans(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	before := fetch[appsv1.Deployment](p, "my-app-deploy")
	p.awaitCollector()
	p.Expect(p.client.Delete(p.ctx, p.webApp(), client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	p.Eventually(func() string { return p.webApp().Name }).Should(BeEmpty())
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").OwnerReferences).To(BeEmpty())

	p.create(sample())
	p.runs()
	after := fetch[appsv1.Deployment](p, "my-app-deploy")
	p.Expect(after.UID).To(Equal(before.UID))
	p.Expect(after.Generation).To(Equal(before.Generation))
	p.Expect(metav1.IsControlledBy(after, p.webApp())).To(BeTrue())
	p.Expect(metav1.IsControlledBy(fetch[corev1.Service](p, "my-app-svc"), p.webApp())).To(BeTrue())
}
