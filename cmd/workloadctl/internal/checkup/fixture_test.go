package checkup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
)

var (
	noon     = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	commands = Commands{Tool: "workloadctl", Flags: []string{"--context=prod"}}
)

// pair is a certificate with its key, and the authority that signed it.
type pair struct{ certificate, key, authority []byte }

// issue makes a serving certificate that ends at a time.
func issue(t *testing.T, ends time.Time, host string) pair {
	t.Helper()
	key := func() *ecdsa.PrivateKey {
		k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	sign := func(template, parent *x509.Certificate, public, signer *ecdsa.PrivateKey) []byte {
		der, err := x509.CreateCertificate(rand.Reader, template, parent, public.Public(), signer)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	authorityKey, leafKey := key(), key()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: noon.AddDate(-1, 0, 0), NotAfter: noon.AddDate(9, 0, 0), IsCA: true, BasicConstraintsValid: true,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotBefore: noon.AddDate(0, -2, 0), NotAfter: ends, DNSNames: []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return pair{
		certificate: block("CERTIFICATE", sign(leaf, authority, leafKey, authorityKey)),
		key:         block("PRIVATE KEY", encoded),
		authority:   block("CERTIFICATE", sign(authority, authority, authorityKey, authorityKey)),
	}
}

const host = "workload-operator-webhook-service.workload-operator-system.svc"

// base is an installation with which nothing is wrong.
func base(t *testing.T) *seen {
	t.Helper()
	p := issue(t, noon.AddDate(0, 1, 0), host)
	s := &seen{
		now: noon, release: "v1.2.3", guarded: true, secretName: defaultSecret,
		service: types.NamespacedName{Namespace: defaultNamespace, Name: defaultService}, live: &corev1.Service{},
		secret: &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/managed-by": "workload-operator"}},
			Data:       map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": p.authority},
		},
		validating: &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "workload-operator-validating-webhook-configuration"}},
		mutating:   &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "workload-operator-mutating-webhook-configuration"}},
		deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: defaultNamespace, Name: "workload-operator-controller-manager"},
			Spec: appsv1.DeploymentSpec{Replicas: new(int32(2)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				ServiceAccountName: "workload-operator-controller-manager",
				Containers:         []corev1.Container{{Name: "manager", Image: "registry.example.com:5000/workload-operator:v1.2.0"}},
			}}},
			Status: appsv1.DeploymentStatus{ReadyReplicas: 2},
		},
	}
	s.addWebhooks(p.authority)
	s.addDefinitions(t, config.StepR3, p.authority)
	return s
}

func (s *seen) addWebhooks(authority []byte) {
	to := admissionv1.WebhookClientConfig{CABundle: authority, Service: &admissionv1.ServiceReference{Namespace: defaultNamespace, Name: defaultService}}
	names, mustFail := expectedWebhooks("validate")
	for _, name := range names {
		policy := map[bool]admissionv1.FailurePolicyType{true: admissionv1.Fail, false: admissionv1.Ignore}[mustFail[name]]
		s.validating.Webhooks = append(s.validating.Webhooks, admissionv1.ValidatingWebhook{Name: name, ClientConfig: to, FailurePolicy: &policy})
	}
	names, _ = expectedWebhooks("default")
	for _, name := range names {
		s.mutating.Webhooks = append(s.mutating.Webhooks, admissionv1.MutatingWebhook{Name: name, ClientConfig: to})
	}
}

// shipped are the definitions of each step, decoded once. Nobody changes them.
var shipped = map[config.Step][]*apiextensionsv1.CustomResourceDefinition{}

func (s *seen) addDefinitions(t *testing.T, step config.Step, authority []byte) {
	t.Helper()
	if shipped[step] == nil {
		crds, err := config.CRDsAt(step)
		if err != nil {
			t.Fatal(err)
		}
		shipped[step] = crds
	}
	for _, crd := range shipped[step] {
		live := crd.DeepCopy()
		if live.Spec.Conversion.Webhook != nil {
			live.Spec.Conversion.Webhook.ClientConfig.CABundle = authority
		}
		live.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
		live.Status.StoredVersions = []string{"v1"}
		s.definitions = append(s.definitions, &definition{want: crd, live: live, step: step, migration: &migration.Status{Target: "v1"}})
	}
}

// findingsOf are all that the judges find.
func findingsOf(s *seen) []Finding {
	var all []Finding
	for _, judge := range judges {
		all = append(all, judge(s, commands)...)
	}
	return append(all, judgeReach(s, commands, all)...)
}
