package unattended

import (
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/test/controlplane"
)

const patience = 30 * time.Second

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(controlplane.Main(m, controlplane.Options{Parts: controlplane.APIOnly()}))
}

// suite is an API server with the definition of WebApp, storing v1alpha1, and three objects.
type suite struct {
	*gomega.WithT
	t      *testing.T
	config *rest.Config
	client client.Client
}

func start(t *testing.T) *suite {
	t.Helper()
	s := &suite{WithT: gomega.NewWithT(t), t: t, config: controlplane.Attach(t).RESTConfig()}
	s.config.WarningHandler, s.config.WarningHandlerWithContext = rest.NoWarnings{}, nil
	scheme := runtime.NewScheme()
	s.Expect(errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme))).To(gomega.Succeed())
	var err error
	s.client, err = client.New(s.config, client.Options{Scheme: scheme})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	converter := httptest.NewTLSServer(conversion.NewHandler(conversion.HandlerOptions{}))
	t.Cleanup(converter.Close)
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: converter.Certificate().Raw})
	crds, err := config.CRDsAt(config.StepR2)
	s.Expect(err).NotTo(gomega.HaveOccurred())
	for _, definition := range crds {
		if definition.Name != crd {
			continue
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(definition)
		s.Expect(err).NotTo(gomega.HaveOccurred())
		delete(content, "status")
		clientConfig := map[string]any{"url": converter.URL + "/convert", "caBundle": base64.StdEncoding.EncodeToString(authority)}
		s.Expect(unstructured.SetNestedMap(content, clientConfig, "spec", "conversion", "webhook", "clientConfig")).To(gomega.Succeed())
		s.Expect(s.client.Create(t.Context(), &unstructured.Unstructured{Object: content})).To(gomega.Succeed())
	}
	for i := range 3 {
		s.Eventually(func() error {
			return s.client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "app.example.com/v1", "kind": "WebApp",
				"metadata": map[string]any{"name": fmt.Sprintf("app-%d", i), "namespace": "default"}, "spec": map[string]any{"image": "web:1"},
			}})
		}).WithTimeout(patience).Should(gomega.Succeed())
	}
	return s
}

// run runs a manager with the controller until the test or the returned function ends it.
func (s *suite) run(o Options) (stop func()) {
	s.t.Helper()
	mgr, err := ctrl.NewManager(s.config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}, Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}})
	s.Expect(err).NotTo(gomega.HaveOccurred())
	o.CRDs = []string{crd}
	o.Engine.SettleDelay, o.Engine.Poll = 200*time.Millisecond, 50*time.Millisecond
	s.Expect(Setup(mgr, o)).To(gomega.Succeed())
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			s.Expect(<-ended).To(gomega.Succeed())
		}
	}
	s.t.Cleanup(stop)
	return stop
}

func (s *suite) definition() *apiextensionsv1.CustomResourceDefinition {
	s.t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Name: crd}, definition)).To(gomega.Succeed())
	return definition
}

// store makes v1 the storage version.
func (s *suite) store() {
	s.t.Helper()
	s.Eventually(func() error {
		definition := s.definition()
		for i := range definition.Spec.Versions {
			definition.Spec.Versions[i].Storage = definition.Spec.Versions[i].Name == "v1"
		}
		return s.client.Update(s.t.Context(), definition)
	}).WithTimeout(patience).Should(gomega.Succeed())
}

// reasons of the events about the definition.
func (s *suite) reasons() []string {
	var list eventsv1.EventList
	s.Expect(s.client.List(s.t.Context(), &list, client.InNamespace(metav1.NamespaceDefault))).To(gomega.Succeed())
	var reasons []string
	for _, e := range list.Items {
		if e.Regarding.Name == crd && e.Regarding.UID == s.definition().UID {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// A definition gets another storage version while the operator runs: told to report, it reports; allowed to, it waits for what
// else must hold, migrates, and says so.
func TestUnattended(t *testing.T) {
	s := start(t)
	stop := s.run(Options{ReportOnly: true})
	s.store()
	s.Eventually(s.reasons).WithTimeout(patience).Should(gomega.ContainElement(ReasonPending))
	s.Expect(testutil.ToFloat64(pending.WithLabelValues(crd))).To(gomega.Equal(1.0))
	s.Expect(s.definition().Status.StoredVersions).To(gomega.Equal([]string{"v1alpha1", "v1"}))
	stop()

	settled := make(chan struct{})
	s.run(Options{Engine: migration.Options{Ready: func(context.Context) error {
		select {
		case <-settled:
			return nil
		default:
			return errors.New("the certificates to settle")
		}
	}}})
	s.Eventually(func() float64 { return testutil.ToFloat64(waiting.WithLabelValues(crd)) }).WithTimeout(patience).Should(gomega.Equal(1.0))
	s.Expect(s.definition().Status.StoredVersions).To(gomega.Equal([]string{"v1alpha1", "v1"}))
	close(settled)
	s.Eventually(func() []string { return s.definition().Status.StoredVersions }).WithTimeout(patience).Should(gomega.Equal([]string{"v1"}))
	s.Eventually(s.reasons).WithTimeout(patience).Should(gomega.ContainElements(ReasonStarted, ReasonDone))
	s.Eventually(func() float64 { return testutil.ToFloat64(pending.WithLabelValues(crd)) }).WithTimeout(patience).Should(gomega.BeZero())
	s.Expect(testutil.ToFloat64(done.WithLabelValues(crd, string(migration.PhaseVerifying)))).To(gomega.Equal(3.0))

	// The records of the run are changes of the definition, but no reason to run again.
	s.Consistently(func() float64 { return testutil.ToFloat64(runs.WithLabelValues(crd, "complete")) }).WithTimeout(time.Second).Should(gomega.Equal(1.0))
}
