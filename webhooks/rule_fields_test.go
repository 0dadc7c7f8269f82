package webhooks

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What refuses a request is counted by rule, and nothing that the user wrote becomes a label.
func TestRefusalsAreCountedByRule(t *testing.T) {
	tests := map[string]struct {
		version, object string
		want            []string
	}{
		"webhook rule": {"v1", `{"spec": {"image": "Web App"}}`, []string{"WebApp v1 spec.image"}},
		"two rules, one of them twice": {"v1", `{"spec": {"image": "Web App", "nodeSelector": {"a b": "c", "d e": "f"}}}`,
			[]string{"WebApp v1 spec.image", "WebApp v1 spec.nodeSelector"}},
		"schema rule of v1, of a request in v1alpha1": {"v1alpha1", `{"spec": {"image": "web:1", "revisionHistoryLimit": -1}}`,
			[]string{"WebApp v1alpha1 spec.revisionHistoryLimit"}},
		"a key of the user's": {"v1alpha1", `{"spec": {"image": "web:1", "resources": {"requests": {"s3cret": "x"}}}}`, []string{"WebApp v1alpha1 spec.resources.requests[*]"}},
		"nothing":             {"v1", `{"spec": {"image": "web:1"}}`, nil},
	}
	compiled := rules(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			refusals.Reset()
			object := base(t, webApp.WithVersion("v1"), test.object)
			if _, err := compiled.review(t.Context(), requestFor(webApp, test.version, object, nil)); err != nil {
				t.Fatal(err)
			}
			got := labelsOf(t, refusals)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("counted (-want +got):\n%s", diff)
			}
			if strings.Contains(strings.Join(got, " "), "s3cret") {
				t.Error("what the user wrote is a label")
			}
		})
	}
	refusals.Reset()
	unknown := requestFor(webApp, "s3cret", base(t, webApp.WithVersion("v1"), `{"spec": {"image": "Web App"}}`), nil)
	if _, err := compiled.review(t.Context(), unknown); err == nil || testutil.CollectAndCount(refusals) > 0 {
		t.Errorf("a version that does not exist: error %v, and %d series", err, testutil.CollectAndCount(refusals))
	}
}

// The number of series is bounded by the list of rules, which has some hundreds of fields; an error that no rule says is "other".
func TestRuleLabelsAreBounded(t *testing.T) {
	fields := rules(t).fields
	labels := map[string]bool{}
	for gk := range kinds {
		for _, pattern := range fields[gk] {
			labels[gk.Kind+pattern] = true
		}
	}
	for i := range webhookRules {
		for _, pattern := range webhookRules[i].fields {
			labels["WebApp"+pattern], labels["PodSet"+pattern] = true, true
		}
	}
	if len(labels) < 100 || len(labels) > 800 {
		t.Errorf("%d labels, want some hundreds", len(labels))
	}
	for _, path := range []string{"", "spec.unknown[0]", "metadata.labels[x]"} {
		if got := fields.of(webApp, &field.Error{Field: path}); got != unlisted {
			t.Errorf("an error about %q counts as %s", path, got)
		}
	}
	t.Log(len(labels), "labels at most, among them", slices.Sorted(maps.Keys(labels))[:3])
}

// labelsOf are the label values of each series.
func labelsOf(t *testing.T, collector prometheus.Collector) []string {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			all = append(all, strings.ReplaceAll(values[0]+" "+values[2]+" "+values[1], "  ", " "))
		}
	}
	slices.Sort(all)
	return all
}
