package certs

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(m, controlplane.Options{Parts: controlplane.APIOnly()}))
}

const (
	soon     = 30 * time.Second
	interval = 50 * time.Millisecond
)

// installation is what the operator finds in a cluster: namespace, CustomResourceDefinitions and webhook configurations.
type installation struct {
	client  client.WithWatch
	options Options
	targets []client.Object
}

// install makes an installation that only this test uses. The CustomResourceDefinitions are shared by all.
func install(t *testing.T, lifetimes Lifetimes) *installation {
	t.Helper()
	g := gomega.NewWithT(t)
	c, err := NewClient(controlplane.Attach(t).RESTConfig())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "certs-"}}
	g.Expect(c.Create(t.Context(), namespace)).To(gomega.Succeed())
	in := &installation{client: c, options: Options{
		Namespace: namespace.Name, SecretName: "hook-certs", ServiceName: "hooks",
		ValidatingWebhookConfigurations: []string{namespace.Name + "-v"},
		MutatingWebhookConfigurations:   []string{namespace.Name + "-m"},
		Mode:                            ModeSelfManaged,
		Lifetimes:                       lifetimes,
	}}
	crds, err := config.CRDs()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	for _, crd := range crds {
		in.options.CRDs = append(in.options.CRDs, crd.Name)
		in.targets = append(in.targets, crd)
	}
	none, url := admissionv1.SideEffectClassNone, new("https://localhost:1/x")
	in.targets = append(in.targets,
		&admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name + "-v"}, Webhooks: []admissionv1.ValidatingWebhook{
			{Name: "a.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: url}},
			{Name: "b.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: url}},
		}},
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: namespace.Name + "-m"}, Webhooks: []admissionv1.MutatingWebhook{
			{Name: "c.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionv1.WebhookClientConfig{URL: url}},
		}},
	)
	for _, target := range in.targets {
		g.Expect(c.Create(t.Context(), target)).To(gomega.Succeed())
	}
	t.Cleanup(func() {
		for _, target := range in.targets {
			if err := c.Delete(context.WithoutCancel(t.Context()), target); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		}
		// The next test installs the same names.
		for _, target := range in.targets {
			gomega.NewWithT(t).Eventually(func() error {
				return c.Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(target), target)
			}, soon, interval).Should(gomega.HaveOccurred())
		}
	})
	return in
}

// replica starts one participant, as cmd/manager does. It ends with the test.
func (in *installation) replica(t *testing.T, leads bool) *Certificates {
	t.Helper()
	c := New(in.client, in.options)
	c.options.Address = serveWith(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	gomega.NewWithT(t).Expect(c.Bootstrap(ctx)).To(gomega.Succeed())
	running.Go(func() { _ = c.Run(ctx) })
	if leads {
		running.Go(func() { _ = c.Lead(ctx) })
	}
	return c
}

func (in *installation) secret(ctx context.Context) *corev1.Secret {
	secret := &corev1.Secret{}
	if err := in.client.Get(ctx, client.ObjectKey{Namespace: in.options.Namespace, Name: in.options.SecretName}, secret); err != nil {
		return &corev1.Secret{}
	}
	return secret
}

// change writes an object although others may write it at the same time. It reads the object first.
func (in *installation) change(t *testing.T, object client.Object, change func()) {
	t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := in.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		change()
		return in.client.Update(t.Context(), object)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// allHold says which target does not hold the bundle of the Secret.
func (in *installation) allHold(ctx context.Context) error {
	bundle := decode(in.secret(ctx).Data).bundlePEM()
	if bundle == nil {
		return fmt.Errorf("no bundle in the Secret")
	}
	for _, target := range in.targets {
		live := target.DeepCopyObject().(client.Object)
		if err := in.client.Get(ctx, client.ObjectKeyFromObject(target), live); err != nil {
			return err
		}
		if len(slots(live)) == 0 || !holds(live, bundle) {
			return fmt.Errorf("%s does not hold the bundle", target.GetName())
		}
	}
	return nil
}

func ready(c *Certificates) error {
	return c.Ready(httptest.NewRequest(http.MethodGet, "/readyz", nil))
}

var long = Lifetimes{Authority: DefaultAuthorityLifetime, Leaf: DefaultLeafLifetime, Settle: DefaultSettle}

// O-04, O-05: replicas that start at once agree on one Secret and publish it, without leader or cache, and each target is written once.
func TestBootstrapTogether(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	before := testutil.CollectAndCount(injections)
	replicas := make([]*Certificates, 4)
	var starting sync.WaitGroup
	for i := range replicas {
		replicas[i] = New(in.client, in.options)
		starting.Go(func() {
			if err := replicas[i].Bootstrap(t.Context()); err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	starting.Wait()
	g.Expect(in.allHold(t.Context())).To(gomega.Succeed())
	for _, r := range replicas {
		g.Expect(r.serving.Load().leaf().Equal(decode(in.secret(t.Context()).Data).leaf())).To(gomega.BeTrue())
	}
	g.Expect(testutil.CollectAndCount(injections)).To(gomega.BeNumerically(">", before), "the metric counts injections")
	for _, target := range in.targets {
		writes := 0
		live := target.DeepCopyObject().(client.Object)
		g.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(target), live)).To(gomega.Succeed())
		for _, entry := range live.GetManagedFields() {
			if entry.Manager == FieldManager {
				writes++
				g.Expect(string(entry.FieldsV1.GetRawBytes())).NotTo(gomega.ContainSubstring("f:strategy"), "only the caBundle is ours")
			}
		}
		g.Expect(writes).To(gomega.Equal(1), target.GetName())
	}
}

// O-02: a caBundle that is wiped or replaced is put back within seconds, and one that is right is not written.
func TestRepair(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	leader := in.replica(t, true)
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	other := encodeCertificates(decode(base(t)).bundle...)
	for name, bundle := range map[string][]byte{
		"removed": nil, "a newline": []byte("\n"), "half a PEM": other[:len(other)/2], "of another authority": other,
	} {
		for _, target := range in.targets {
			live := target.DeepCopyObject().(client.Object)
			g.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(target), live)).To(gomega.Succeed())
			damage(live, bundle)
			err := in.client.Update(t.Context(), live)
			if _, isCRD := live.(*apiextensionsv1.CustomResourceDefinition); isCRD && bundle != nil && !bytes.Equal(bundle, other) {
				g.Expect(apierrors.IsInvalid(err)).To(gomega.BeTrue(), "the API server itself refuses what is not PEM in a CustomResourceDefinition")
				continue
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
		}
		g.Eventually(func() error { return in.allHold(t.Context()) }, followerDelay/2, interval).Should(gomega.Succeed(), name)
		g.Expect(ready(leader)).To(gomega.Succeed(), "a repair does not cost readiness")
	}
	versions := in.resourceVersions(t)
	leader.poke()
	g.Consistently(func() []string { return in.resourceVersions(t) }, time.Second, interval).Should(gomega.Equal(versions))
}

func damage(target client.Object, bundle []byte) {
	switch o := target.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		o.Spec.Conversion.Webhook.ClientConfig.CABundle = bundle
	case *admissionv1.ValidatingWebhookConfiguration:
		o.Webhooks[1].ClientConfig.CABundle = bundle
	case *admissionv1.MutatingWebhookConfiguration:
		o.Webhooks[0].ClientConfig.CABundle = bundle
	}
}

func (in *installation) resourceVersions(t *testing.T) []string {
	t.Helper()
	var versions []string
	for _, target := range in.targets {
		live := target.DeepCopyObject().(client.Object)
		if err := in.client.Get(t.Context(), client.ObjectKeyFromObject(target), live); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, live.GetResourceVersion())
	}
	return versions
}

// O-05: without a leader, which there may not be before the caches are filled, a follower repairs too, later.
func TestFollowerRepairsInTheEnd(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	follower := in.replica(t, false)
	g.Eventually(func() error { return ready(follower) }, soon, interval).Should(gomega.Succeed())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Name = in.targets[0].GetName()
	in.change(t, crd, func() { damage(crd, nil) })
	g.Consistently(func() error { return in.allHold(t.Context()) }, followerDelay/2, interval).ShouldNot(gomega.Succeed())
	g.Eventually(func() error { return in.allHold(t.Context()) }, followerDelay+soon, interval).Should(gomega.Succeed())
}

// A target that is installed later gets its caBundle then, and is not missed before.
func TestLateTarget(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	late := in.targets[len(in.targets)-1]
	g.Expect(in.client.Delete(t.Context(), late)).To(gomega.Succeed())
	leader := in.replica(t, true)
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	late.SetResourceVersion("")
	g.Expect(in.client.Create(t.Context(), late)).To(gomega.Succeed())
	g.Eventually(func() error { return in.allHold(t.Context()) }, soon, interval).Should(gomega.Succeed())
}

// O-01: the phases on a real API server. Every replica follows; old and new authority are published before the leaf changes.
func TestRotation(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, Lifetimes{Authority: DefaultAuthorityLifetime, Leaf: DefaultLeafLifetime, Settle: 3 * time.Second})
	leader, follower := in.replica(t, true), in.replica(t, false)
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	g.Eventually(func() error { return ready(follower) }, soon, interval).Should(gomega.Succeed())
	first := leader.serving.Load()

	secret := in.secret(t.Context())
	in.change(t, secret, func() { delete(secret.Data, KeyAuthorityKey) })

	g.Eventually(func() int { return count(decode(in.secret(t.Context()).Data)) }, soon, interval).Should(gomega.Equal(2))
	made := issuedAt(decode(in.secret(t.Context()).Data).signer)
	g.Eventually(func() error { return in.allHold(t.Context()) }, soon, interval).Should(gomega.Succeed())
	unchanged := follower.serving.Load().leaf().Equal(first.leaf())
	g.Expect(unchanged || time.Since(made) >= in.options.Lifetimes.Settle).To(gomega.BeTrue(), "the leaf changed before the authority had settled")
	for _, r := range []*Certificates{leader, follower} {
		g.Eventually(func() bool { return r.serving.Load().leaf().Equal(first.leaf()) }, soon, interval).Should(gomega.BeFalse())
	}
	g.Expect(ready(leader)).To(gomega.Succeed())
	g.Expect(ready(follower)).To(gomega.Succeed())
	g.Eventually(func() int { return count(decode(in.secret(t.Context()).Data)) }, soon, interval).Should(gomega.Equal(1))
	g.Eventually(func() error { return in.allHold(t.Context()) }, soon, interval).Should(gomega.Succeed())
	g.Expect(leader.serving.Load().bundle[0].Equal(first.bundle[0])).To(gomega.BeFalse())
	g.Expect(ready(leader)).To(gomega.Succeed())
}

// A Secret that is deleted or damaged under a running leader: the leaf that is served comes back, and nothing is untrusted meanwhile.
func TestSecretLost(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	leader := in.replica(t, true)
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	leaf := leader.serving.Load().leaf()
	g.Expect(in.client.Delete(t.Context(), in.secret(t.Context()))).To(gomega.Succeed())
	held := func() bool { return leaf.Equal(decode(in.secret(t.Context()).Data).leaf()) }
	g.Eventually(held, soon, interval).Should(gomega.BeTrue())
	g.Expect(ready(leader)).To(gomega.Succeed())

	secret := in.secret(t.Context())
	in.change(t, secret, func() { secret.Data = map[string][]byte{KeyBundle: []byte("\n")} })
	g.Eventually(held, soon, interval).Should(gomega.BeTrue())
	g.Expect(ready(leader)).To(gomega.Succeed())
}
