package reliability

import (
	"bytes"
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/operator"
)

// O-02: a caBundle that is wiped, or replaced by one of another authority, is put back, and reads in the older version work again.
func TestBrokenBundle(t *testing.T) {
	s := attach(t)
	g := gomega.NewWithT(t)
	app := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "app.example.com/v1", "kind": "WebApp", "spec": map[string]any{"image": "web:1"}}}
	app.SetNamespace("default")
	app.SetName("broken-bundle")
	g.Expect(s.client.Create(t.Context(), app)).To(gomega.Succeed())
	for _, bundle := range [][]byte{nil, newSecretData(t)["ca.crt"]} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		g.Eventually(func() error {
			if err := s.client.Get(t.Context(), client.ObjectKey{Name: "webapps.app.example.com"}, crd); err != nil {
				return err
			}
			crd.Spec.Conversion.Webhook.ClientConfig.CABundle = bundle
			return s.client.Update(t.Context(), crd)
		}, patience, interval).Should(gomega.Succeed())
		read := func() error {
			older := app.DeepCopy()
			older.SetAPIVersion("app.example.com/v1alpha1")
			if err := s.client.Get(t.Context(), client.ObjectKey{Name: crd.Name}, crd); err != nil {
				return err
			}
			if bytes.Equal(crd.Spec.Conversion.Webhook.ClientConfig.CABundle, bundle) {
				return errors.New("not repaired yet")
			}
			return s.client.Get(t.Context(), client.ObjectKeyFromObject(older), older)
		}
		g.Eventually(read, 15*time.Second, interval).Should(gomega.Succeed())
	}
	g.Expect(s.client.Delete(t.Context(), app)).To(gomega.Succeed())
}

// O-12: the operator is down. Pods are none of its business, and its own namespace and kube-system never wait for it.
func TestExcludedPlaces(t *testing.T) {
	s := attach(t)
	for _, r := range s.replicas {
		s.balancer.removeAfter(r.at.Webhook, 0)
		_ = r.process.Signal(syscall.SIGKILL)
		<-r.process.Done()
	}
	s.replicas = nil
	g := gomega.NewWithT(t)
	for _, namespace := range []string{"default", "kube-system", operator.Namespace} {
		app := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "app.example.com/v1", "kind": "WebApp", "spec": map[string]any{"image": "web:1"}}}
		pod := &corev1.Pod{Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "a", Image: "a:1"}},
			ServiceAccountName:           "default",
			AutomountServiceAccountToken: new(false),
		}}
		restrict(pod)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
		g.Expect(client.IgnoreAlreadyExists(s.client.Create(t.Context(), account))).To(gomega.Succeed())
		for _, object := range []client.Object{app, pod} {
			object.SetNamespace(namespace)
			object.SetName("while-down")
			begun := time.Now()
			g.Expect(s.client.Create(t.Context(), object)).To(gomega.Succeed(), namespace)
			if namespace != "default" {
				g.Expect(time.Since(begun)).To(gomega.BeNumerically("<", 4*time.Second), "it waited for the webhook")
			}
			g.Expect(s.client.Delete(context.WithoutCancel(t.Context()), object, client.GracePeriodSeconds(0))).To(gomega.Succeed())
		}
	}
}

// restrict makes a Pod pass the strictest Pod Security level, which the operator's namespace has.
func restrict(pod *corev1.Pod) {
	pod.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}}
	pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}}
}
