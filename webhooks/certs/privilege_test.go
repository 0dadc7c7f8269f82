package certs

import (
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
)

// O-11: exactly the permissions of config/rbac, by name, are enough to create, watch, repair and rotate.
func TestLeastPrivilege(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	admin := in.client
	namespace := in.options.Namespace
	meta := metav1.ObjectMeta{Name: namespace + "-operator", Namespace: namespace}
	cluster := metav1.ObjectMeta{Name: meta.Name}
	subject := []rbacv1.Subject{{Kind: "ServiceAccount", Name: meta.Name, Namespace: namespace}}
	named := []string{"get", "list", "watch", "patch"}
	objects := []client.Object{
		&corev1.ServiceAccount{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
			{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{in.options.SecretName}, Verbs: []string{"get", "list", "watch", "update"}},
		}},
		&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name}},
		&rbacv1.ClusterRole{ObjectMeta: cluster, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{apiextensionsv1.GroupName}, Resources: []string{"customresourcedefinitions"}, ResourceNames: in.options.CRDs, Verbs: named},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"validatingwebhookconfigurations"},
				ResourceNames: in.options.ValidatingWebhookConfigurations, Verbs: named},
			{APIGroups: []string{"admissionregistration.k8s.io"}, Resources: []string{"mutatingwebhookconfigurations"},
				ResourceNames: in.options.MutatingWebhookConfigurations, Verbs: named},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: cluster, Subjects: subject, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name}},
	}
	for _, object := range objects {
		g.Expect(admin.Create(t.Context(), object)).To(gomega.Succeed())
	}
	kubeconfig, err := controlplane.Attach(t).KubeconfigFor(t.Context(), namespace, meta.Name)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	restricted, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	in.client, err = NewClient(restricted)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	leader := in.replica(t, true)
	in.client = admin

	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = in.targets[0].GetName()
	in.change(t, crd, func() { damage(crd, nil) })
	g.Eventually(func() error { return in.allHold(t.Context()) }, followerDelay/2, interval).Should(gomega.Succeed())
	secret := in.secret(t.Context())
	in.change(t, secret, func() { delete(secret.Data, KeyAuthorityKey) })
	g.Eventually(func() int { return count(decode(in.secret(t.Context()).Data)) }, soon, interval).Should(gomega.Equal(2))
	g.Eventually(func() error { return in.allHold(t.Context()) }, followerDelay/2, interval).Should(gomega.Succeed())
}
