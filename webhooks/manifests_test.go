package webhooks

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestShippedWebhooks pins the policy of each webhook, whose reasons are in setup.go.
func TestShippedWebhooks(t *testing.T) {
	manifests, err := os.ReadFile("../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// The fields that both kinds of webhook have, and the one that only mutating ones have.
	type configuration struct {
		Webhooks []struct {
			admissionregistrationv1.ValidatingWebhook `json:",inline"`
			ReinvocationPolicy                        string `json:"reinvocationPolicy"`
		} `json:"webhooks"`
	}
	seen := 0
	for document := range strings.SplitSeq(string(manifests), "\n---\n") {
		c := configuration{}
		if err := yaml.Unmarshal([]byte(document), &c); err != nil {
			t.Fatal(err)
		}
		for _, webhook := range c.Webhooks {
			seen++
			older, mutating := strings.Contains(webhook.Name, "v1alpha1"), strings.HasPrefix(webhook.Name, "default-")
			var conditions []string
			for _, condition := range webhook.MatchConditions {
				conditions = append(conditions, condition.Name)
			}
			got := map[string]any{
				"failurePolicy": string(*webhook.FailurePolicy), "matchPolicy": string(*webhook.MatchPolicy), "sideEffects": string(*webhook.SideEffects),
				"timeoutSeconds": *webhook.TimeoutSeconds, "reinvocationPolicy": webhook.ReinvocationPolicy, "operations": len(webhook.Rules[0].Operations),
				"versions": webhook.Rules[0].APIVersions[0], "subresources": strings.Contains(webhook.Rules[0].Resources[0], "/"),
				"excludes namespaces": webhook.NamespaceSelector != nil, "conditions": strings.Join(conditions, " "),
			}
			want := map[string]any{
				"failurePolicy": "Ignore", "matchPolicy": "Equivalent", "sideEffects": "None", "timeoutSeconds": int32(5), "reinvocationPolicy": "",
				"operations": 2, "versions": "v1", "subresources": false, "excludes namespaces": !older,
				"conditions": "written-in-v1 not-being-deleted changes-something",
			}
			if older {
				want["failurePolicy"], want["conditions"] = "Fail", "written-in-v1alpha1 not-being-deleted changes-something"
			}
			if mutating {
				want["reinvocationPolicy"] = "IfNeeded"
				want["conditions"] = map[bool]string{true: "written-in-v1alpha1 changes-something", false: "written-in-v1 needs-a-default"}[older]
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", webhook.Name, diff)
			}
		}
	}
	if seen != 8 {
		t.Errorf("%d webhooks, want 8", seen)
	}
}
