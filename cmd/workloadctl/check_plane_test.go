package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/operator"
)

const webAppsCRD = "webapps.app.example.com"

var certificateSecret = types.NamespacedName{Namespace: operator.Namespace, Name: "workload-operator-webhook-certs"}

// testCheck breaks the installation in many ways, and mends it with what is printed and nothing else.
func testCheck(c *cluster) {
	report := c.check()
	c.Expect(report.Findings).To(gomega.BeEmpty())
	c.Expect(report.Definitions[0].Step).To(gomega.Equal("R3"))
	c.before()
	c.stranger()
	c.expiredCertificate()
	c.staleBundle()
	c.severalThings()
	c.refusedMigration()
	c.elsewhere()
}

// elsewhere: nobody is told to lead the webhooks to a namespace without an operator, nor to deploy one that runs outside of the cluster.
func (c *cluster) elsewhere() {
	c.t.Helper()
	mistaken := c.run("check", "-n", "shop")
	c.Expect(mistaken.code).To(gomega.Equal(exitUsage))
	c.Expect(mistaken.stderr).To(gomega.ContainSubstring("there is no operator in namespace shop: the webhooks that the cluster calls are those of Service " + operator.Namespace))
	c.kubectl("-n", operator.Namespace, "delete", "deployments", "--all")
	report := c.check("--wait=20s") // a manager that was refused may have begun anew
	c.Expect(report.Findings).To(gomega.BeEmpty())
	c.Expect(report.Notes).To(gomega.ConsistOf(gomega.ContainSubstring("runs outside of the cluster: no Deployment runs it, and ")))
	c.Expect(c.run("check").stdout).To(gomega.ContainSubstring("\nnote: the manager runs outside of the cluster: "))
}

// before looks at what stands in the way of an upgrade.
func (c *cluster) before() {
	c.t.Helper()
	c.Expect(c.check("--pre").Findings).To(gomega.BeEmpty())
	tooFar := c.check("--pre", "--step=R5")
	c.Expect(ids(tooFar)).To(gomega.Equal([]string{"step-refused", "step-refused"}))
	c.Expect(tooFar.Findings[0].Fix).To(gomega.MatchRegexp(`^workloadctl crds --step R4 --apply .* && workloadctl migrate run webapp `))
	c.apply(`{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: left-behind}, webhooks: [{
		name: default-v1.webapps.app.example.com, sideEffects: None, admissionReviewVersions: [v1], failurePolicy: Ignore,
		clientConfig: {service: {namespace: gone, name: gone}}}]}`)
	left := c.check("--pre")
	c.Expect(ids(left)).To(gomega.Equal([]string{"second-installation"}))
	c.Expect(c.sh(left.Findings[0].Fix).code).To(gomega.Equal(exitOK))
	c.Expect(c.check("--pre").Findings).To(gomega.BeEmpty())
}

// stranger has no permissions: nothing can be said about the installation, and one thing about what is to come.
func (c *cluster) stranger() {
	c.t.Helper()
	kubeconfig, err := c.plane.KubeconfigFor(c.t.Context(), "shop", "default")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(runWith("", "check", "--kubeconfig", kubeconfig).code).To(gomega.Equal(exitUsage))
	// One who may read the definitions and nothing else.
	c.kubectl("create", "clusterrole", "definitions", "--verb=get", "--resource=customresourcedefinitions")
	c.kubectl("create", "clusterrolebinding", "definitions", "--clusterrole=definitions", "--serviceaccount=shop:default")
	var got outcome
	c.Eventually(func() string {
		got = runWith("", "check", "--kubeconfig", kubeconfig)
		return got.stdout
	}).Should(gomega.ContainSubstring("R3"), "%v", got)
	c.Expect(got.stderr).To(gomega.ContainSubstring("Warning: not looked at: listing Deployments"))
	pre := runWith("", "check", "--pre", "--kubeconfig", kubeconfig)
	c.Expect(pre.code).To(gomega.Equal(exitFailure))
	c.Expect(pre.stdout).To(gomega.ContainSubstring("User system:serviceaccount:shop:default: may not "))
}

// expiredCertificate: somebody else's certificate has expired while the operator was down, so that it does not become ready.
func (c *cluster) expiredCertificate() {
	c.t.Helper()
	c.Expect(c.operator.Stop()).To(gomega.Succeed())
	c.Expect(ids(c.check())).To(gomega.Equal([]string{"webhook-unreachable", "webhook-unreachable"}), "the Pods of the plane are fake, and ready all the same")
	secret := &corev1.Secret{}
	c.Expect(c.client.Get(c.t.Context(), certificateSecret, secret)).To(gomega.Succeed())
	secret.Data["tls.crt"], secret.Data["tls.key"] = c.expired(secret.Data["ca.crt"], secret.Data["ca.key"])
	delete(secret.Data, "ca.key")
	delete(secret.Labels, "app.kubernetes.io/managed-by")
	c.Expect(c.client.Update(c.t.Context(), secret)).To(gomega.Succeed())
	c.Expect(c.operator.Launch()).To(gomega.Succeed())

	report := c.check()
	c.Expect(ids(report)).To(gomega.Equal([]string{"certificate-expired"}))
	c.mend(report)
	c.Expect(c.operator.WaitReady(c.t.Context())).To(gomega.Succeed())
}

// expired is a certificate for the webhooks by the authority, with its key.
func (c *cluster) expired(authority, authorityKey []byte) (certificate, key []byte) {
	c.t.Helper()
	block, _ := pem.Decode(authority)
	parent, err := x509.ParseCertificate(block.Bytes)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	block, _ = pem.Decode(authorityKey)
	signer, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	host := "workload-operator-webhook-service." + operator.Namespace + ".svc"
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host, host + ".cluster.local"},
		NotBefore: parent.NotBefore, NotAfter: time.Now().Add(-time.Second), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, own.Public(), signer)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	encoded, err := x509.MarshalPKCS8PrivateKey(own)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// staleBundle: a definition is left to a cainjector that is not there any more. The operator itself never touches it then.
func (c *cluster) staleBundle() {
	c.t.Helper()
	secret, crd := &corev1.Secret{}, &apiextensionsv1.CustomResourceDefinition{}
	c.Expect(c.client.Get(c.t.Context(), certificateSecret, secret)).To(gomega.Succeed())
	c.Expect(c.client.Get(c.t.Context(), types.NamespacedName{Name: webAppsCRD}, crd)).To(gomega.Succeed())
	stranger, err := base64.StdEncoding.DecodeString(c.kubectl("config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.certificate-authority-data}"))
	c.Expect(err).NotTo(gomega.HaveOccurred())
	before := crd.DeepCopy()
	crd.Annotations["cert-manager.io/inject-ca-from"] = "gone/gone"
	crd.Spec.Conversion.Webhook.ClientConfig.CABundle = stranger
	c.Expect(c.client.Patch(c.t.Context(), crd, client.MergeFrom(before))).To(gomega.Succeed())

	report := c.check()
	c.Expect(ids(report)).To(gomega.Equal([]string{"ca-bundle-stale"}))
	c.mend(report)
}

// severalThings are wrong at once.
func (c *cluster) severalThings() {
	c.t.Helper()
	for _, line := range []string{
		"kubectl delete clusterrolebinding workload-operator-manager-rolebinding",
		"kubectl -n workload-operator-system scale deployment --all --replicas=0",
		`kubectl patch validatingwebhookconfiguration workload-operator-validating-webhook-configuration --type=json -p '[{"op":"replace","path":"/webhooks/3/failurePolicy","value":"Ignore"}]'`,
		`kubectl patch crd ` + webAppsCRD + ` --type=merge -p '{"spec":{"conversion":{"webhook":{"clientConfig":{"service":{"path":"/elsewhere"}}}}}}'`,
	} {
		c.Expect(c.sh(line).code).To(gomega.Equal(exitOK))
	}
	report := c.check()
	c.Expect(ids(report)).To(gomega.Equal([]string{"permission-missing", "manager-stopped", "conversion-stanza", "webhook-policy"}))
	c.mend(report)
}

// refusedMigration: a policy refuses one object, and so the migration of its kind is not finished.
func (c *cluster) refusedMigration() {
	c.t.Helper()
	c.Expect(c.run("migrate", "rollback", "webapp", "--settle=500ms", "--qps=1000").code).To(gomega.Equal(exitOK))
	c.apply("{apiVersion: app.example.com/v1, kind: WebApp, metadata: {name: frozen, namespace: default}, spec: {image: 'web:1'}}")
	c.apply(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: frozen}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [app.example.com], apiVersions: ["*"], operations: [UPDATE], resources: [webapps]}]}
  validations: [{expression: "object.metadata.name != 'frozen'", message: this object is frozen}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: freeze}
spec: {policyName: frozen, validationActions: [Deny, Audit]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: freeze-too}
spec: {policyName: frozen, validationActions: [Deny]}
`)
	c.Eventually(func() string {
		return c.sh("kubectl annotate webapp frozen --dry-run=server a=b").stderr
	}).Should(gomega.ContainSubstring("this object is frozen"))
	c.Expect(c.run("crds", "--step=R3", "--apply").code).To(gomega.Equal(exitOK))
	c.Expect(c.run("migrate", "run", "webapp", "--settle=500ms", "--qps=1000").code).To(gomega.Equal(exitFailure))

	report := c.check()
	c.Expect(ids(report)).To(gomega.Equal([]string{"migration-refused"}))
	c.Expect(report.Findings[0].Object).To(gomega.Equal("WebApp default/frozen"))
	c.age()
	c.mend(report)
	c.Expect(c.kubectl("get", "validatingadmissionpolicybinding", "freeze", "-o", "jsonpath={.spec.validationActions}")).To(gomega.Equal(`["Deny","Audit"]`))
	c.Expect(c.kubectl("get", "validatingadmissionpolicybinding", "freeze-too", "-o", "jsonpath={.spec.validationActions}")).To(gomega.Equal(`["Deny"]`))
	c.kubectl("delete", "validatingadmissionpolicybinding/freeze", "validatingadmissionpolicybinding/freeze-too", "validatingadmissionpolicy/frozen", "webapp/frozen")
}

// age lets the definition look as if nobody had changed it for some minutes, so that the migration need not wait for it to settle.
func (c *cluster) age() {
	c.t.Helper()
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: apiextensionsv1.GroupName, Version: "v1", Kind: "CustomResourceDefinition"})
	c.Expect(c.client.Get(c.t.Context(), types.NamespacedName{Name: webAppsCRD}, crd)).To(gomega.Succeed())
	before := crd.DeepCopy()
	crd.Annotations["aged"] = "yes" // the API server leaves times alone if nothing else changes
	for i := range crd.ManagedFields {
		crd.ManagedFields[i].Time = &metav1.Time{Time: crd.ManagedFields[i].Time.Add(-5 * time.Minute)}
	}
	c.Expect(c.client.Patch(c.t.Context(), crd, client.MergeFrom(before), client.FieldOwner("workload-operator-migration"))).To(gomega.Succeed())
}
