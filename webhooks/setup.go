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

// The policies of our webhooks, which the markers in webapp.go and podset.go set, and why:
//
//   - failurePolicy: Fail for requests in v1alpha1, Ignore for those in v1; the reasons stand above the markers.
//   - matchPolicy Equivalent and versions v1: the API server converts a request in another version for us, so there is one rule set.
//   - timeoutSeconds 5: a call takes about a millisecond. Whoever waits longer waits for a webhook that is gone; the default of ten
//     seconds, twice for a write that is defaulted and validated, is more than clients wait.
//   - sideEffects None: nothing is written or counted per object, so dry runs are sent here too.
//   - reinvocationPolicy IfNeeded: another webhook may add a probe or an annotation after us. Defaulting twice changes nothing more.
//   - matchConditions: nothing is called that could not change the answer. A write that leaves spec and annotations alone (labels,
//     finalizers, owners, migration) passes while the operator is down; so does every write to what is being deleted. The
//     defaulting of v1 is only called where there is something to default.
//   - namespaceSelector: while the operator is down, or starts, kube-system and its own namespace must not wait for it. Not for v1alpha1.
//   - no DELETE, no status, no scale: deletion is nobody's to refuse, status is the controller's, and a scale is bounded by the schema.

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
//
// It refuses an update in an older version that brings in a value which conversion cannot read. The schema of that version would do
// so too, but after the patch it would no longer see the value.
func mutate(_ context.Context, request *admissionv1.AdmissionRequest) (*admissionv1.AdmissionResponse, error) {
	r, err := requestOf(request)
	if err != nil {
		return nil, err
	}
	defaulted, err := Default(r)
	if err != nil {
		return nil, err
	}
	if errs := r.unreadable(); r.Old != nil && len(errs) > 0 && !beingDeleted(r.Object) {
		refusals.WithLabelValues(r.Kind.Kind, r.Version, unreadable).Inc()
		return &admissionv1.AdmissionResponse{Result: refusal(r, errs)}, nil
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
	verdict, errs, err := r.validate(ctx, judged)
	if err != nil {
		return nil, err
	}
	response := &admissionv1.AdmissionResponse{Allowed: len(verdict.Errors) == 0, Warnings: verdict.Warnings}
	if !response.Allowed {
		r.fields.count(judged, errs)
		response.Result = refusal(judged, verdict.Errors)
	}
	return response, nil
}
