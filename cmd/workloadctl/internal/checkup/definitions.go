package checkup

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/example/workload-operator/config"
)

// conversionPath is where the operator converts.
const conversionPath = "/convert"

// judgeDefinitions says what is wrong with the definitions themselves: the first thing of each.
func judgeDefinitions(s *seen, c Commands) []Finding {
	var findings []Finding
	for _, d := range s.definitions {
		for _, judge := range []func(*seen, Commands, *definition) *Finding{missing, unestablished, offTheRoad, misdirected, differing} {
			if f := judge(s, c, d); f != nil {
				f.Object = d.object()
				findings = append(findings, *f)
				break
			}
		}
	}
	return findings
}

func missing(_ *seen, c Commands, d *definition) *Finding {
	if d.live != nil {
		return nil
	}
	return &Finding{ID: "definition-missing", Severity: Error, Problem: "is not installed", Fix: c.Call("crds", "--step", string(config.StepR3), "--apply")}
}

func unestablished(_ *seen, c Commands, d *definition) *Finding {
	established, why := false, "the API server has not accepted it yet"
	for _, condition := range d.live.Status.Conditions {
		switch {
		case condition.Type == apiextensionsv1.Established:
			established = condition.Status == apiextensionsv1.ConditionTrue
		case condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse:
			why = condition.Message
		}
	}
	if established {
		return nil
	}
	return &Finding{
		ID: "definition-not-established", Severity: Error, Problem: "is not Established: " + why,
		Fix: c.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd/"+d.want.Name),
	}
}

// offTheRoad finds versions and strategy that are those of no step. Two served versions without a webhook are the worst of them.
func offTheRoad(_ *seen, c Commands, d *definition) *Finding {
	if d.step != "" {
		return nil
	}
	served, storage := d.served()
	f := &Finding{
		ID: "definition-step", Severity: Warning, Fix: c.Call("crds", "--step", string(config.StepR3), "--apply"),
		Problem: fmt.Sprintf("serves %s and stores %s, which is none of the steps R1 to R5", strings.Join(served, ", "), storage),
	}
	if len(served) > 1 && (d.stanza() == nil || d.live.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter) {
		f.ID, f.Severity = "conversion-missing", Error
		f.Problem = fmt.Sprintf("serves %s, but converts nothing: objects are read as they are stored", strings.Join(served, ", "))
	}
	return f
}

// misdirected finds a conversion stanza that leads elsewhere than to the operator.
func misdirected(s *seen, c Commands, d *definition) *Finding {
	stanza := d.stanza()
	if stanza == nil || stanza.Service == nil { // a URL is somebody's own choice, which only a call can judge
		return nil
	}
	service := stanza.Service
	f := &Finding{ID: "conversion-stanza", Severity: Error}
	switch {
	case service.Path == nil || *service.Path != conversionPath:
		f.Problem = fmt.Sprintf("its conversion webhook has the path %q instead of %s", deref(service.Path), conversionPath)
		f.Fix = c.kubectl("patch", "crd", d.want.Name, "--type=merge", "-p", `{"spec":{"conversion":{"webhook":{"clientConfig":{"service":{"path":"`+conversionPath+`"}}}}}}`)
	case service.Namespace != s.service.Namespace || service.Name != s.service.Name:
		f.Problem = fmt.Sprintf("its conversion webhook is Service %s/%s, the operator's is %s", service.Namespace, service.Name, s.service)
		f.Fix = c.Call("crds", "--step", string(d.step), "--apply", "--webhook-service="+s.service.String())
	default:
		return nil
	}
	return f
}

// differing finds a definition of another release. Which one is newer cannot be seen, so the fix only shows the difference.
func differing(s *seen, c Commands, d *definition) *Finding {
	same := func(a, b apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return equality.Semantic.DeepEqual(a, b)
	}
	if slices.EqualFunc(byName(d.live), byName(d.want), same) {
		return nil
	}
	return &Finding{
		ID: "definition-release", Severity: Warning,
		Problem: "its versions are those of another release than this command line (" + s.release + "): take that of the operator, or upgrade",
		Fix:     c.Call("crds", "--step", string(d.step)) + " | " + c.kubectl("diff", "--server-side", "--force-conflicts", "-f", "-"),
	}
}

func byName(crd *apiextensionsv1.CustomResourceDefinition) []apiextensionsv1.CustomResourceDefinitionVersion {
	return slices.SortedFunc(slices.Values(crd.Spec.Versions), func(a, b apiextensionsv1.CustomResourceDefinitionVersion) int {
		return strings.Compare(a.Name, b.Name)
	})
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
