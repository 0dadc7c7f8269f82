package webhooks

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Every refusal of every case, in both versions, is one of the rules that are listed, with the floor it has there.
func TestRefusalsAreExplained(t *testing.T) {
	o, all := offline(t), ExplainRules(shipped(t))
	count := 0
	for reason, object := range agreementCases(t) {
		verdict, err := o.Admit(t.Context(), object.raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range verdict.Errors {
			// Types, which hold everywhere, metadata, which is the API server's own, and what an annotation smuggled in.
			if err.Type == field.ErrorTypeTypeInvalid || strings.HasPrefix(err.Detail, "Checked value must be of type") || err.Field == "metadata" || inAnnotation(err.Field) && !strings.Contains(err.Field, "description") ||
				strings.Contains(err.Detail, "some validation rules were not checked") || strings.HasPrefix(err.Field, "metadata.") && err.Field != "metadata.annotations" {
				continue
			}
			count++
			if !explained(all, object, err) {
				t.Errorf("%s in %s: not listed: %v (%q)", reason, object.gvk.Version, err, messageOf(err))
			}
		}
	}
	if count < 200 {
		t.Errorf("only %d refusals", count)
	}
}

func explained(all []Rule, object versioned, err *field.Error) bool {
	path := strings.TrimPrefix(err.Field, "<nil>")
	for _, rule := range all {
		if rule.Kind != object.gvk.Kind || rule.Version != object.gvk.Version {
			continue
		}
		for _, message := range rule.Messages {
			// The schema's messages repeat the field.
			said := like(message, messageOf(err), "…") || rule.Floor == FloorSchema && strings.HasSuffix(messageOf(err), " in body "+message)
			for _, one := range alternatives(rule.Field) {
				if said && likePath(one, path) {
					return true
				}
			}
		}
	}
	return false
}

// The rules that the lead of a cluster asks about are there, in the words of each version.
func TestExplainRules(t *testing.T) {
	for _, want := range []struct {
		version, field, message string
		floor                   Floor
	}{
		{"v1", "spec.replicas", "should be less than or equal to 10", FloorSchema},
		{"v1alpha1", "spec.scale.instances", "should be less than or equal to 10", FloorSchema},
		{"v1", "spec.autoscaling.minReplicas", "minReplicas must not be above maxReplicas", FloorCEL},
		{"v1", "", "metadata.name must be at most 59 characters, so that the names of the children fit", FloorCEL},
		{"v1", "spec.image", "must be an image reference such as registry.example.com/web:1.25: …", FloorWebhook},
		{"v1alpha1", "spec.image", "must be an image reference such as registry.example.com/web:1.25: …", FloorWebhook},
	} {
		found := false
		for _, rule := range ExplainRules(shipped(t)) {
			if rule.Kind == kindWebApp && rule.Version == want.version && rule.Field == want.field && rule.Floor == want.floor {
				found = found || rule.Messages[0] == want.message
			}
			if (rule.Floor == FloorWebhook) != (rule.Why != "") || (rule.Floor == FloorCEL) != (rule.Expression != "") || len(rule.Messages) == 0 || rule.Messages[0] == "" {
				t.Fatalf("incomplete: %+v", rule)
			}
		}
		if !found {
			t.Errorf("not listed: %+v", want)
		}
	}
}
