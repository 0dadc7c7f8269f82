package webhooks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/example/workload-operator/config"
)

// Setup serves the admission webhooks of all kinds on the manager's webhook server, under the paths that the markers in
// webapp.go and podset.go name. It fails if a schema or rule of the shipped CustomResourceDefinitions does not compile.
func Setup(mgr ctrl.Manager) error {
	crds, err := config.CRDs()
	if err != nil {
		return fmt.Errorf("reading the CustomResourceDefinitions: %w", err)
	}
	rules, err := NewRules(crds)
	if err != nil {
		return fmt.Errorf("compiling the rules: %w", err)
	}
	if err := registerMetrics(metrics.Registry); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	server := mgr.GetWebhookServer()
	for gk := range kinds {
		name := strings.ToLower(gk.Kind)
		server.Register(pathOf("mutate", gk), handler{name: "mutate-" + name, review: mutate})
		server.Register(pathOf("validate", gk), handler{name: "validate-" + name, review: rules.review})
	}
	return nil
}

// pathOf is where the webhook of a kind is served, for example /validate-app-example-com-v1-webapp.
func pathOf(duty string, gk schema.GroupKind) string {
	return fmt.Sprintf("/%s-%s-%s-%s", duty, strings.ReplaceAll(gk.Group, ".", "-"), hubVersion, strings.ToLower(gk.Kind))
}

// mutate answers with a patch of what defaulting changes.
func mutate(_ context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	r, err := requestOf(request)
	if err != nil {
		return nil, err
	}
	defaulted, err := Default(r)
	if err != nil {
		return nil, err
	}
	response := &admissionv1.AdmissionResponse{Allowed: true}
	operations := difference("", r.Object, defaulted)
	if len(operations) == 0 {
		return response, nil
	}
	patchType := admissionv1.PatchTypeJSONPatch
	response.PatchType = &patchType
	response.Patch, err = json.Marshal(operations)
	return response, err
}

// review answers with a verdict.
func (r *Rules) review(ctx context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	judged, err := requestOf(request)
	if err != nil {
		return nil, err
	}
	verdict, err := r.Validate(ctx, judged)
	if err != nil {
		return nil, err
	}
	response := &admissionv1.AdmissionResponse{Allowed: len(verdict.Errors) == 0, Warnings: verdict.Warnings}
	if !response.Allowed {
		response.Result = refusal(judged, verdict.Errors)
	}
	return response, nil
}
