package main

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	"github.com/example/workload-operator/controllers"
	"github.com/example/workload-operator/controllers/migration"
	"github.com/example/workload-operator/controllers/migration/unattended"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// newScheme has the kinds that the controllers read and write: ours in v1 only, and those of Kubernetes.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(
		clientgoscheme.AddToScheme(scheme),
		appv1.AddToScheme(scheme),
		batchv1.AddToScheme(scheme),
	)
}

// serve puts everything that the API server calls on the webhook server, and has the leader keep the certificate.
func (p *process) serve(mgr ctrl.Manager) error {
	if !p.options.claim.Webhooks {
		return nil
	}
	if err := mgr.Add(manager.RunnableFunc(p.certs.Lead)); err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(conversionPath, conversion.NewHandler(conversion.HandlerOptions{Registerer: metrics.Registry}))
	if err := webhooks.Setup(mgr); err != nil {
		return fmt.Errorf("setting up the webhooks: %w", err)
	}
	return nil
}

// reconcile adds the controllers.
func (p *process) reconcile(mgr ctrl.Manager) error {
	options := controllers.Options{MaxConcurrentReconciles: p.options.concurrency}
	if p.options.claim.Webhooks {
		options.Migration = &unattended.Options{
			CRDs: crdNames, ReportOnly: !p.options.autoMigrate,
			// Stored objects are not migrated while certificates change.
			Engine: migration.Options{Ready: p.certs.Settled},
		}
	}
	if p.tracing != nil {
		options.Wrap = p.tracing.reconciler
	}
	if err := controllers.Setup(mgr, options); err != nil {
		return fmt.Errorf("setting up the controllers: %w", err)
	}
	return nil
}
