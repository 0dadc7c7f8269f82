package certs

import (
	"context"
	"testing"
	"time"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// madeNow is what somebody else puts into the Secret: a certificate of a new authority whose key is kept elsewhere.
func (in *installation) madeNow(t *testing.T) map[string][]byte {
	t.Helper()
	c := New(in.client, in.options)
	data, err := issue(StepReplace, Observation{names: c.names, now: time.Now()}, long)
	if err != nil {
		t.Fatal(err)
	}
	return without(data, KeyAuthorityKey)
}

func (in *installation) provide(t *testing.T, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: in.options.Namespace, Name: in.options.SecretName}}
	gomega.NewWithT(t).Expect(client.IgnoreNotFound(in.client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))).To(gomega.Succeed())
	secret.Data = data
	write := in.client.Update
	if secret.ResourceVersion == "" {
		write = func(ctx context.Context, o client.Object, _ ...client.UpdateOption) error {
			return in.client.Create(ctx, o)
		}
	}
	gomega.NewWithT(t).Expect(write(t.Context(), secret)).To(gomega.Succeed())
}

// asCertManager writes the Secret as cert-manager's issuing controller does: by a forced apply, with its annotations and label.
func (in *installation) asCertManager(t *testing.T, data map[string][]byte) {
	t.Helper()
	kind := corev1.SecretTypeTLS
	if live := in.secret(t.Context()); live.Name != "" {
		kind = live.Type // which cannot be changed, so cert-manager keeps it
	}
	secret := applycorev1.Secret(in.options.SecretName, in.options.Namespace).WithType(kind).WithData(data).
		WithLabels(map[string]string{"controller.cert-manager.io/fao": "true"}).
		WithAnnotations(map[string]string{
			issuedBy: "serving", "cert-manager.io/issuer-name": "ca", "cert-manager.io/issuer-kind": "Issuer", "cert-manager.io/issuer-group": "cert-manager.io",
		})
	gomega.NewWithT(t).Expect(in.client.Apply(t.Context(), secret, client.FieldOwner("cert-manager-certificates-issuing"), client.ForceOwnership)).To(gomega.Succeed())
}

func (in *installation) events(t *testing.T) []string {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := in.client.List(t.Context(), list, client.InNamespace(in.options.Namespace)); err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, event := range list.Items {
		if event.Regarding.Kind == "Secret" && event.Regarding.Name == in.options.SecretName {
			notes = append(notes, event.Reason+": "+event.Note)
		}
	}
	return notes
}

func serves(c *Certificates, data map[string][]byte) func() bool {
	leaf := decode(data).leaf()
	return func() bool { m := c.serving.Load(); return m != nil && m.leaf().Equal(leaf) }
}

// O-03, O-04: a Secret that others provide. Missing, it is named; when it comes, it is served; a key that does not match is
// ignored with an Event; a new one, of a new authority, is served by every replica with an overlap and without a restart.
func TestProvided(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, Lifetimes{Settle: 3 * time.Second})
	in.options.Mode = ModeProvided
	leader, follower := in.replica(t, true), in.replica(t, false)
	for _, r := range []*Certificates{leader, follower} {
		g.Expect(ready(r)).To(gomega.MatchError(gomega.And(
			gomega.ContainSubstring("Secret "+in.options.Namespace+"/hook-certs: it does not exist; put a certificate for hooks."), gomega.ContainSubstring("tls.key"))))
	}
	g.Expect(in.events(t)).To(gomega.ContainElement(gomega.HavePrefix("Missing: it does not exist")))

	first := in.madeNow(t)
	in.provide(t, first)
	for _, r := range []*Certificates{leader, follower} {
		g.Eventually(func() error { return ready(r) }, soon, interval).Should(gomega.Succeed())
		g.Expect(serves(r, first)()).To(gomega.BeTrue())
	}
	g.Expect(in.allHold(t.Context())).To(gomega.Succeed())
	g.Expect(in.secret(t.Context()).Data).To(gomega.Equal(first), "the Secret is not ours to change")

	in.provide(t, with(first, KeyPrivateKey, in.madeNow(t)[KeyPrivateKey]))
	g.Eventually(func() []string { return in.events(t) }, soon, interval).Should(gomega.ContainElement(gomega.HavePrefix("KeyPairUnreadable: ")))
	damaged := in.targets[0].DeepCopyObject().(client.Object)
	in.change(t, damaged, func() { damage(damaged, nil) })
	g.Eventually(func() error { return leader.untrusted(leader.serving.Load(), time.Now()) }, soon, interval).Should(gomega.Succeed(), "what is served on is repaired")
	g.Expect(ready(leader)).To(gomega.Succeed())
	g.Expect(serves(leader, first)()).To(gomega.BeTrue())

	second := in.madeNow(t)
	in.provide(t, second)
	g.Eventually(serves(leader, second), soon, interval).Should(gomega.BeTrue())
	g.Eventually(serves(follower, second), soon, interval).Should(gomega.BeTrue())
	live := in.targets[0].DeepCopyObject().(client.Object)
	g.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(gomega.Succeed())
	g.Expect(vouches(live, decode(first), time.Now())).To(gomega.Succeed(), "the former authority is trusted until all have gone over")
	g.Expect(ready(follower)).To(gomega.Succeed())
	g.Eventually(func() error { return in.allHold(t.Context()) }, soon, interval).Should(gomega.Succeed(), "and then no more")
}

// Without being told, the operator makes a Secret, and gives it up to cert-manager when that writes it. A certificate of a new
// authority is handed over with an overlap, which the cainjector does not give.
func TestCertManager(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, Lifetimes{Settle: time.Second})
	in.options.Mode = ModeAuto
	leader := in.replica(t, true)
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
	own := leader.serving.Load()
	for range 2 {
		issued := in.madeNow(t)
		in.asCertManager(t, issued)
		var steps []string
		g.Eventually(func() bool {
			live := in.targets[0].DeepCopyObject().(client.Object)
			g.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(live), live)).To(gomega.Succeed())
			if err := vouches(live, leader.serving.Load(), time.Now()); err != nil {
				steps = append(steps, err.Error())
			}
			return serves(leader, issued)()
		}, soon, interval).Should(gomega.BeTrue())
		g.Expect(steps).To(gomega.BeEmpty(), "what is served is trusted all along")
		g.Eventually(func() error { return in.allHold(t.Context()) }, soon, interval).Should(gomega.Succeed())
		g.Expect(decode(in.secret(t.Context()).Data).leaf().Equal(decode(issued).leaf())).To(gomega.BeTrue(), "nobody fights over the Secret")
	}
	g.Expect(own.leaf().Equal(leader.serving.Load().leaf())).To(gomega.BeFalse())
}

// What asks for the cainjector is left to it: one writer for each caBundle.
func TestInjectorIsTheOnlyWriter(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, Lifetimes{Settle: time.Second})
	in.options.Mode = ModeAuto
	annotated := in.targets[0].DeepCopyObject().(client.Object)
	in.change(t, annotated, func() {
		annotated.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": in.options.Namespace + "/serving"})
	})
	leader := in.replica(t, true)
	g.Expect(ready(leader)).To(gomega.MatchError(gomega.ContainSubstring("cert-manager writes it")))
	issued := in.madeNow(t)
	in.asCertManager(t, issued)
	g.Eventually(serves(leader, issued), soon, interval).Should(gomega.BeTrue())
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.MatchError(gomega.ContainSubstring("the cainjector of cert-manager writes it")))
	g.Consistently(func() error {
		g.Expect(in.client.Get(t.Context(), client.ObjectKeyFromObject(annotated), annotated)).To(gomega.Succeed())
		return vouches(annotated, leader.serving.Load(), time.Now())
	}, time.Second, interval).ShouldNot(gomega.Succeed())
	in.change(t, annotated, func() { damage(annotated, issued[KeyBundle]) })
	g.Eventually(func() error { return ready(leader) }, soon, interval).Should(gomega.Succeed())
}

// O-04: a certificate that has expired while nothing ran is renewed before the replica is ready.
func TestExpiredAtStart(t *testing.T) {
	g := gomega.NewWithT(t)
	in := install(t, long)
	c := New(in.client, in.options)
	expired, err := issue(StepReplace, Observation{names: c.names, now: time.Now().Add(-2 * long.Leaf)}, long)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	in.provide(t, expired)
	in.options.Mode = ModeAuto
	replica := in.replica(t, false)
	g.Eventually(func() error { return ready(replica) }, soon, interval).Should(gomega.Succeed())
	g.Expect(serves(replica, expired)()).To(gomega.BeFalse())
	g.Expect(in.allHold(t.Context())).To(gomega.Succeed())
}
