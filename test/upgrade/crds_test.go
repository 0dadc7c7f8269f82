package upgrade

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/example/workload-operator/config"
)

// A step writes what it changes and nothing else: a definition that is right is not written, the caBundle stays through steps that
// convert, and the Service is the one that was there.
func TestStepsTouchLittle(t *testing.T) {
	r := enter(t, config.StepR3)
	before := r.definitions()
	out := r.must("crds", "--step", "R3", "--apply")
	r.Expect(out).To(gomega.ContainSubstring(webApps + ": at R3 already\n"))
	for name, crd := range r.definitions() {
		r.Expect(crd.ResourceVersion).To(gomega.Equal(before[name].ResourceVersion), "%s was written", name)
		r.Expect(crd.Spec.Conversion.Webhook.ClientConfig.CABundle).NotTo(gomega.BeEmpty())
	}

	out = r.must("crds", "--step", "R2", "--apply")
	r.Expect(strings.Split(out, "\n")).To(gomega.ContainElements(webApps+": R3 -> R2", podSets+": R3 -> R2"))
	for name, crd := range r.definitions() {
		r.Expect(crd.Spec.Conversion).To(gomega.Equal(before[name].Spec.Conversion), "the stanza of %s", name)
		r.Expect(crd.Generation).To(gomega.Equal(before[name].Generation+1), "one write of %s", name)
	}

	r.must("crds", "--step", "R3", "--apply", "--webhook-service", "elsewhere/other:8443")
	for name, crd := range r.definitions() {
		service := crd.Spec.Conversion.Webhook.ClientConfig.Service
		r.Expect([]string{service.Namespace, service.Name}).To(gomega.Equal([]string{"elsewhere", "other"}))
		r.Expect(*service.Port).To(gomega.BeEquivalentTo(8443))
		r.Expect(crd.Spec.Conversion.Webhook.ClientConfig.CABundle).To(gomega.Equal(before[name].Spec.Conversion.Webhook.ClientConfig.CABundle))
	}
	service := before[webApps].Spec.Conversion.Webhook.ClientConfig.Service
	r.must("crds", "--step", "R3", "--apply", "--webhook-service", service.Namespace+"/"+service.Name+":"+port(*service.Port))
	for name, crd := range r.definitions() {
		r.Expect(crd.Spec).To(gomega.Equal(before[name].Spec), name)
	}
}

func port(number int32) string { return strconv.Itoa(int(number)) }

// O-09: an installer that applies the definitions of a step, as Helm and GitOps tools do by server-side apply, finds nothing to change
// once workloadctl has taken it. At R5 it could not take the step alone: it does not own the caBundle that has to go.
func TestInstallersAgree(t *testing.T) {
	r := enter(t, config.StepR3)
	service := r.definitions()[webApps].Spec.Conversion.Webhook.ClientConfig.Service
	apply := func(step config.Step) (string, error) {
		manifests := r.must("crds", "--step", string(step), "--webhook-service", service.Namespace+"/"+service.Name+":"+port(*service.Port))
		file := filepath.Join(t.TempDir(), string(step)+".yaml")
		r.Expect(os.WriteFile(file, []byte(manifests), 0o600)).To(gomega.Succeed())
		return r.kubectl("apply", "--server-side", "--field-manager=installer", "-f", file)
	}
	_, err := apply(config.StepR3)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	r.migrate()
	for _, step := range []config.Step{config.StepR4, config.StepR5, config.StepR3} {
		r.step(step)
		before := r.definitions()
		_, err := apply(step)
		r.Expect(err).NotTo(gomega.HaveOccurred(), "at %s", step)
		for name, crd := range r.definitions() {
			r.Expect(crd.Generation).To(gomega.Equal(before[name].Generation), "the spec of %s at %s", name, step)
		}
	}
	r.step(config.StepR4)
	_, err = apply(config.StepR4)
	r.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = apply(config.StepR5)
	r.Expect(err).To(gomega.HaveOccurred(), "if this works, the page need not tell to use workloadctl first")
}
