package webhooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The validators say nothing that the table of their rules does not say, and each field of each rule has a case that schema and CEL
// let through.
func TestWebhookRulesAreListed(t *testing.T) {
	r := rules(t)
	covered := map[int]map[string]bool{}
	for _, object := range badObjects(t) {
		structural, err := r.schemas[object.kind].validateRaw(t.Context(), object.raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		errs := r.apply(kinds[object.kind], object.kind, object.raw)
		budget, err := validateBudget(Request{Kind: object.kind, Version: "v1", Object: object.raw})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range append(errs, budget...) {
			listed := false
			for i := range webhookRules {
				rule := &webhookRules[i]
				name := rule.fieldOf(err)
				if name == "" || !rule.forKind(object.kind) {
					continue
				}
				listed = true
				if len(structural) == 0 {
					if covered[i] == nil {
						covered[i] = map[string]bool{}
					}
					covered[i][name] = true
				}
			}
			if !listed {
				t.Errorf("%s: not in the table: %v", object.reason, err)
			}
		}
	}
	for i, rule := range webhookRules {
		if rule.backstop {
			continue
		}
		for _, name := range rule.fields {
			if !covered[i][name] {
				t.Errorf("no case that only the webhook refuses for %s: %s", name, rule.messages[0])
			}
		}
	}
}

type badObject struct {
	kind   schema.GroupKind
	reason string
	raw    []byte
	bad    bool
}

// badObjects are all cases in v1, good ones too, and those that are about more than spec.
func badObjects(t testing.TB) []badObject {
	t.Helper()
	var all []badObject
	for _, gk := range []schema.GroupKind{webApp, podSet} {
		for _, sample := range samplesOf(gk) {
			all = append(all, badObject{gk, gk.Kind + " " + sample.reason, base(t, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`), sample.want != ""})
		}
		all = append(all, badObject{gk, gk.Kind + " budget", base(t, gk.WithVersion("v1"), `{"metadata": {"annotations": {"a": "`+noise(250<<10)+`"}},
			"spec": {"podAnnotations": {"b": "`+noise(30<<10)+`"}}}`), true})
	}
	return append(all, badObject{podSet, "description", base(t, podSet.WithVersion("v1"), `{"metadata": {"annotations": {"batch.example.com/description": "`+long(4097)+`"}}}`), true})
}
