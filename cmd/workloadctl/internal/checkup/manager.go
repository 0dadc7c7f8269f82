package checkup

import (
	"cmp"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/example/workload-operator/controllers/podhealth"
)

// versionLabel is what the chart puts on the Deployment.
const versionLabel = "app.kubernetes.io/version"

// judgeManager looks at the Deployment.
func judgeManager(s *seen, c Commands) []Finding {
	if s.deploymentHidden || s.outside != "" {
		return nil
	}
	if s.deployment == nil {
		return []Finding{{
			ID: "manager-missing", Severity: Error, Object: "Namespace " + s.service.Namespace,
			Problem: "no Deployment there runs the operator (give its namespace with -n)", Fix: reinstall(s, c),
		}}
	}
	d := s.deployment
	f := Finding{Severity: Error, Object: nameOf("Deployment", d)}
	wanted := int32(1)
	if d.Spec.Replicas != nil {
		wanted = *d.Spec.Replicas
	}
	switch {
	case wanted == 0:
		f.ID, f.Problem = "manager-stopped", "is scaled to zero"
		f.Fix = c.kubectl("-n", d.Namespace, "scale", "deployment", d.Name, "--replicas=2")
	case d.Status.ReadyReplicas == 0:
		f.ID, f.Problem = "manager-not-ready", fmt.Sprintf("none of %d replicas is ready%s", wanted, because(s))
		f.Fix = look(s, c)
	case d.Status.ReadyReplicas < wanted:
		f.ID, f.Severity = "manager-degraded", Warning
		f.Problem = fmt.Sprintf("%d of %d replicas are ready%s", d.Status.ReadyReplicas, wanted, because(s))
		f.Fix = look(s, c)
	default:
		return judgeSkew(s, c)
	}
	return []Finding{f}
}

func because(s *seen) string {
	if problem, found := podhealth.Worst(s.pods); found {
		return ": " + problem.Reason + ": " + problem.Message
	}
	return ""
}

// look shows why Pods are not ready. What mends that depends on what is shown.
func look(s *seen, c Commands) string {
	selector := "app.kubernetes.io/name=workload-operator,app.kubernetes.io/component=manager"
	return c.kubectl("-n", s.service.Namespace, "describe", "pods", "-l", selector) + " && " +
		c.kubectl("-n", s.service.Namespace, "logs", "-l", selector, "--prefix", "--tail=20")
}

// judgeSkew compares this command line with the operator, if both are releases.
func judgeSkew(s *seen, c Commands) []Finding {
	image := managerOf(s.deployment).Image
	theirs := cmp.Or(releaseOf(tagOf(image)), releaseOf(s.deployment.Labels[versionLabel]))
	ours := releaseOf(s.release)
	if theirs == "" || ours == "" {
		return nil
	}
	a, b := version.MustParseSemantic(theirs), version.MustParseSemantic(ours)
	if a.Major() == b.Major() && a.Minor() == b.Minor() {
		return nil
	}
	f := Finding{
		ID: "version-skew", Severity: Warning, Object: nameOf("Deployment", s.deployment),
		Problem: fmt.Sprintf("the operator is %s, this command line %s: use that of the operator", theirs, ours),
		Fix:     "make build VERSION=" + theirs,
	}
	if a.LessThan(b) {
		f.Problem = fmt.Sprintf("the operator is %s, older than this command line %s", theirs, ours)
		f.Fix = c.kubectl("-n", s.deployment.Namespace, "set", "image", "deployment/"+s.deployment.Name, "manager="+strings.TrimSuffix(image, tagOf(image))+ours)
	}
	return []Finding{f}
}

// tagOf is the tag of an image, empty for one by digest.
func tagOf(image string) string {
	if strings.Contains(image, "@") {
		return ""
	}
	last := image[strings.LastIndex(image, "/")+1:]
	_, tag, _ := strings.Cut(last, ":")
	return tag
}

// releaseOf is the text if it names a release, empty for what a build tree gives.
func releaseOf(text string) string {
	parsed, err := version.ParseSemantic(text)
	if err != nil || parsed.PreRelease() != "" || strings.HasPrefix(strings.TrimPrefix(text, "v"), "0.0.0") {
		return ""
	}
	return text
}

// restart has the operator begin anew.
func restart(s *seen, c Commands) string {
	if s.deployment == nil {
		return reinstall(s, c)
	}
	return c.kubectl("-n", s.deployment.Namespace, "rollout", "restart", "deployment", s.deployment.Name)
}

// runAgain is how a manager outside of the cluster is installed, as far as is known.
const runAgain = "make run"

// reinstall puts back what was installed, in the way in which it was, from the root of the repository.
func reinstall(s *seen, c Commands) string {
	if s.outside != "" {
		return runAgain
	}
	image := "REGISTRY/workload-operator:TAG"
	if s.deployment != nil {
		if release := helmRelease(s.deployment); release != "" {
			return c.helm("upgrade", release, "charts/workload-operator", "--namespace="+s.deployment.Namespace, "--reset-then-reuse-values")
		}
		image = cmp.Or(managerOf(s.deployment).Image, image)
	}
	return c.make("deploy", "IMG="+image)
}

func helmRelease(d *appsv1.Deployment) string { return d.Annotations["meta.helm.sh/release-name"] }
