package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/webhooks/certs"
)

// A replica that loses the Lease stops reconciling and ends, to begin anew; its webhooks are served on for the shutdown delay,
// as those who call them have yet to learn.
func TestLostLease(t *testing.T) {
	g := gomega.NewWithT(t)
	plane := controlplane.Attach(t)
	c, err := certs.NewClient(plane.RESTConfig())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "lease-"}}
	g.Expect(c.Create(t.Context(), namespace)).To(gomega.Succeed())
	installCRDs(t, c)
	m := startManager(t, plane.Kubeconfig(), "--namespace="+namespace.Name, "--metrics-bind-address=0", "--leader-elect", "--shutdown-delay=3s")
	g.Eventually(m.readiness, soon, interval).Should(gomega.Equal("200 ok"))
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "workload-operator.example.com"}}
	g.Eventually(func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity, lease.Spec.RenewTime = new("another"), new(metav1.NowMicro())
		return c.Update(t.Context(), lease)
	}, soon, interval).Should(gomega.Succeed())
	g.Eventually(m.readiness, soon, interval).Should(gomega.Equal("503 not ready: shutting down"))
	lost := time.Now()
	g.Expect(m.accepts()).To(gomega.Succeed(), "the webhooks are served on")
	g.Expect(m.command.Wait()).NotTo(gomega.Succeed())
	g.Expect(time.Since(lost)).To(gomega.BeNumerically(">", 2*time.Second))
	g.Expect(m.command.ProcessState.ExitCode()).To(gomega.Equal(exitFailure))
	g.Expect(m.command.ProcessState.Sys().(syscall.WaitStatus).Signaled()).To(gomega.BeFalse())
	g.Expect(strings.TrimSpace(m.stderr.String())).To(gomega.HaveSuffix("manager: leader election lost"))
}
