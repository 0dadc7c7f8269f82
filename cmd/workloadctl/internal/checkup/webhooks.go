package checkup

import (
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/example/workload-operator/config"
)

// kindsOfWebhooks end the names of the operator's webhooks.
var kindsOfWebhooks = []string{".webapps.app.example.com", ".podsets.batch.example.com"}

// expectedWebhooks are the operator's webhooks with their failurePolicy. What is written in v1alpha1 needs them: they keep what
// that version cannot show. For v1 the schema judges as well, and an administrator may choose Fail.
func expectedWebhooks(verb string) (names []string, mustFail map[string]bool) {
	mustFail = map[string]bool{}
	for _, kind := range kindsOfWebhooks {
		for _, version := range []string{"v1", "v1alpha1"} {
			name := verb + "-" + version + kind
			names = append(names, name)
			mustFail[name] = version == "v1alpha1"
		}
	}
	return names, mustFail
}

// webhook is what the judges look at of a webhook of either kind.
type webhook struct {
	name   string
	policy admissionv1.FailurePolicyType
}

// judgeWebhooks looks at the webhook configurations, and at the Service that they lead to. A cluster at R1 needs neither.
func judgeWebhooks(s *seen, c Commands) []Finding {
	prefix := prefixOf(s)
	validating := configuration{kind: "ValidatingWebhookConfiguration", name: prefix + "validating-webhook-configuration", verb: "validate"}
	mutating := configuration{kind: "MutatingWebhookConfiguration", name: prefix + "mutating-webhook-configuration", verb: "default"}
	if s.validating != nil {
		validating.name = s.validating.Name
		for _, w := range s.validating.Webhooks {
			validating.webhooks = append(validating.webhooks, webhook{w.Name, policyOf(w.FailurePolicy)})
		}
	}
	if s.mutating != nil {
		mutating.name = s.mutating.Name
		for _, w := range s.mutating.Webhooks {
			mutating.webhooks = append(mutating.webhooks, webhook{w.Name, policyOf(w.FailurePolicy)})
		}
	}
	findings := append(judgeConfiguration(s, c, validating), judgeConfiguration(s, c, mutating)...)
	if s.live == nil && s.url == "" {
		f := Finding{ID: "service-missing", Severity: Error, Object: "Service " + s.service.String(), Problem: "does not exist, so that no webhook can be called", Fix: reinstall(s, c)}
		if s.deployment != nil {
			f.Fix = c.kubectl("-n", s.service.Namespace, "expose", "deployment", s.deployment.Name, "--name="+s.service.Name, "--port=443", "--target-port=webhook")
		}
		findings = append(findings, f)
	}
	return findings
}

// prefixOf is what comes before the names of everything that is installed.
func prefixOf(s *seen) string { return strings.TrimSuffix(s.service.Name, "webhook-service") }

func policyOf(policy *admissionv1.FailurePolicyType) admissionv1.FailurePolicyType {
	if policy == nil {
		return admissionv1.Fail
	}
	return *policy
}

type configuration struct {
	kind, name, verb string
	webhooks         []webhook // none if there is no configuration
}

func judgeConfiguration(s *seen, c Commands, k configuration) []Finding {
	names, mustFail := expectedWebhooks(k.verb)
	f := Finding{ID: "webhook-missing", Severity: Error, Object: k.kind + " " + k.name, Fix: reinstall(s, c)}
	if len(k.webhooks) == 0 {
		f.Problem = "does not exist: an old client can change what it cannot see, and only schemas judge"
		return []Finding{f}
	}
	var lost []string
	for _, name := range names {
		if indexOf(k.webhooks, name) < 0 {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		f.Problem = "lacks the webhooks " + strings.Join(lost, ", ")
		return []Finding{f}
	}
	var findings []Finding
	for i, w := range k.webhooks {
		if mustFail[w.name] && w.policy != admissionv1.Fail {
			f := f
			f.ID, f.Problem = "webhook-policy", fmt.Sprintf("webhook %s has failurePolicy %s: while it is down, an old client can destroy what it cannot see", w.name, w.policy)
			f.Fix = c.kubectl("patch", strings.ToLower(k.kind), k.name, "--type=json", "-p",
				fmt.Sprintf(`[{"op":"test","path":"/webhooks/%d/name","value":%q},{"op":"replace","path":"/webhooks/%d/failurePolicy","value":"Fail"}]`, i, w.name, i))
			findings = append(findings, f)
		}
	}
	return findings
}

func indexOf(webhooks []webhook, name string) int {
	for i, w := range webhooks {
		if w.name == name {
			return i
		}
	}
	return -1
}

// judgeReach reports webhooks that do not answer, unless what was found before explains it.
func judgeReach(s *seen, c Commands, before []Finding) []Finding {
	for _, f := range before {
		if f.Severity == Error && explains[f.ID] {
			return nil
		}
	}
	var findings []Finding
	for _, d := range s.definitions {
		if d.unreachable != nil {
			findings = append(findings, Finding{
				ID: "webhook-unreachable", Severity: Error, Object: d.object(), Fix: restart(s, c),
				Problem: "the webhooks do not answer through Service " + s.service.String() + ": " + d.unreachable.Error(),
			})
		}
	}
	return findings
}

// explains has the findings whose fix makes the webhooks answer.
var explains = map[string]bool{
	"definition-missing": true, "definition-not-established": true, "conversion-missing": true, "conversion-stanza": true,
	"service-missing": true, "manager-missing": true, "manager-stopped": true, "manager-not-ready": true,
	"certificate-missing": true, "certificate-unreadable": true, "certificate-expired": true, "certificate-names": true,
	"certificate-untrusted": true, "ca-bundle-missing": true, "ca-bundle-stale": true,
}

// judgeGuard misses the policy that keeps definitions from being taken too far. At R5 there is nothing left to go wrong.
func judgeGuard(s *seen, c Commands) []Finding {
	if s.guarded || s.guardHidden || allAt(s, config.StepR5) {
		return nil
	}
	return []Finding{{
		ID: "guard-missing", Severity: Warning, Object: "ValidatingAdmissionPolicy " + prefixOf(s) + "crd-guard",
		Problem: "is not in force: nothing keeps anybody from changing the definitions so that stored objects cannot be read",
		Fix:     reinstall(s, c),
	}}
}

func allAt(s *seen, step config.Step) bool {
	for _, d := range s.definitions {
		if d.step != step {
			return false
		}
	}
	return true
}
