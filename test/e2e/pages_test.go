package e2e

import (
	"context"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/operator"
	"github.com/example/workload-operator/test/pages"
)

// types runs a command of a page as its reader would, and returns what it printed.
func (c *cluster) types(line string) (printed string, err error) {
	c.t.Helper()
	stdout, stderr, err := pages.Terminal{Plane: c.plane, Namespace: c.namespace}.Type(context.WithoutCancel(c.t.Context()), line)
	return stdout + stderr, err
}

// TestReadme types what README.md shows in the order of the page: the commands of the tour print what it says, but for ages; the bad
// spec is refused; objects stored as v1alpha1 end up in v1, and the definitions say so.
func TestReadme(t *testing.T) {
	c := connect(t)
	for _, command := range pages.Part(t, "README.md", "Try it").Typed() {
		printed, err := c.types(command.Line)
		bad := strings.HasSuffix(command.Line, "/bad")
		c.Expect(err != nil).To(gomega.Equal(bad), "%s: %v\n%s", command.Line, err, printed)
		if strings.Contains(command.Line, "apply") && !bad {
			c.ready(webAppV1, "my-app")
			c.ready(webAppV1, "my-older-app")
		}
		block, _, _ := strings.Cut(command.Printed, "\n\n") // what follows is printed by the tour
		for line := range strings.Lines(block) {
			c.Expect(printed).To(gomega.MatchRegexp(shown(line)), command.Line)
		}
	}
	for _, command := range pages.Part(t, "README.md", "Move what is stored from v1alpha1 to v1, and know that nothing is left").Typed() {
		printed, err := c.types(command.Line)
		c.Expect(err).NotTo(gomega.HaveOccurred(), "%s\n%s", command.Line, printed)
		if strings.Contains(command.Line, "--step R3") {
			c.Expect(c.storedVersions("webapps.app.example.com")).To(gomega.ContainElement("v1alpha1"), "there is something to migrate")
		}
	}
	for _, name := range []string{"webapps.app.example.com", "podsets.batch.example.com"} {
		c.Expect(c.storedVersions(name)).To(gomega.Equal([]string{"v1"}), name)
	}
}

var (
	spaces = regexp.MustCompile(`\s+`)
	age    = regexp.MustCompile(`\d+s(\n|$)`)
)

// shown matches what a line of a page says is printed: with other ages, other widths of columns, and anything for three dots.
func shown(line string) string {
	line = regexp.QuoteMeta(age.ReplaceAllString(strings.TrimSpace(line), "\x00$1"))
	line = spaces.ReplaceAllString(line, `\s+`)
	return strings.NewReplacer("\x00", `[0-9hms]+`, `\.\.\.`, `.*`).Replace(line)
}

func (c *cluster) storedVersions(name string) []string {
	c.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	c.Expect(c.client.Get(c.t.Context(), client.ObjectKey{Name: name}, crd)).To(gomega.Succeed())
	return crd.Status.StoredVersions
}

// absent are the commands that ask what the plane does not have, and how far they come. It has no kubelets, which would run containers and
// have logs of them, and no metrics server.
var absent = map[*regexp.Regexp]string{
	regexp.MustCompile(`kubectl (-n \S+ )?logs\b`): `dial tcp|connection refused|container .* is not available`,
	regexp.MustCompile(`kubectl (-n \S+ )?top\b`):  `Metrics API not available`,
	regexp.MustCompile(`:8081/proxy/readyz`):       `Error from server \([^N]|error trying to reach`,
	// Nor the kinds of others, with which test/helm installs.
	regexp.MustCompile(`describe certificate$|-f config/monitoring/rules.yaml$`): `doesn't have a resource type|no matches for kind`,
}

// TestPages types what pages tell the reader to type on a cluster where the operator works, and also what they say in a sentence: each
// command is accepted and finds what it names. What comes after a pipe may find nothing, and is left out if this machine lacks it.
func TestPages(t *testing.T) {
	c := connect(t)
	for _, kind := range []string{"app.example.com/v1 WebApp", "batch.example.com/v1 PodSet"} {
		version, kind, _ := strings.Cut(kind, " ")
		for _, name := range []string{"web", "my-app", "shop"} {
			c.must(`{"apiVersion": "`+version+`", "kind": "`+kind+`", "metadata": {"name": "`+name+`"}, "spec": {"image": "nginx:1"}}`, "apply", "-f", "-")
		}
	}
	c.ready(webAppV1, "web")
	c.ready(podSetV1, "web")
	pod := c.deployed()
	place := strings.NewReplacer("deploy NAME", "deploy web-deploy", "NAMESPACE", c.namespace, "NAME", "web", "pods/POD", "pods/"+pod,
		"migrate run", "migrate run --settle 1s", "migrate verify", "migrate verify --settle 1s", "migrate rollback", "migrate rollback --settle 1s")
	for _, page := range []pages.Page{
		pages.Part(t, "docs/concepts.md", "Generation, observedGeneration and conditions"), pages.Part(t, "docs/runbooks.md", ""),
		pages.Part(t, "docs/operate.md", ""), pages.Part(t, "docs/certificates.md", "self-managed"), pages.Part(t, "docs/migration.md", ""),
	} {
		ran := map[string]bool{}
		for _, command := range page.Typed() {
			line := place.Replace(command.Line)
			if !ran[line] {
				ran[line] = true
				c.accepted(page.Path, line)
			}
		}
		t.Log(page.Path, len(ran))
	}
	c.must("", "create", "namespace", "monitoring")
	for _, page := range pages.All(t) {
		for _, code := range page.Code() {
			if whole.MatchString(code) {
				c.accepted(page.Path, place.Replace(code))
			}
		}
	}
	// The last command of docs/migration.md goes back.
	for _, line := range []string{"workloadctl crds --step R3 --apply", "workloadctl migrate run --settle 1s"} {
		c.accepted("afterwards", line)
	}
}

// whole matches what stands in a sentence and is a whole command for kubectl, rather than the name of one.
var whole = regexp.MustCompile(`^kubectl( [^\s\\]\S*){3,}$`)

// accepted types a command, which must succeed, or fail for what the plane does not have and nothing else.
func (c *cluster) accepted(page, line string) {
	c.t.Helper()
	asked, filters, piped := strings.Cut(line, " | ")
	printed, err := c.types(asked)
	if piped && err == nil {
		defer c.filtered(page, line, filters)
	}
	for pattern, answer := range absent {
		if pattern.MatchString(line) {
			c.Expect(printed).To(gomega.MatchRegexp(answer), "%s: %s: %v", page, line, err)
			return
		}
	}
	if err != nil {
		c.t.Errorf("%s: %s: %v\n%s", page, line, err, printed)
	}
}

// usual are the programs that a page may pipe into.
var usual = []string{"grep", "wc", "jq", "base64", "openssl"}

var quoted = regexp.MustCompile(`'[^']*'`)

// filtered types a whole pipeline. grep ends with 1 if it finds nothing.
func (c *cluster) filtered(page, line, filters string) {
	c.t.Helper()
	for filter := range strings.SplitSeq(quoted.ReplaceAllString(filters, ""), " | ") {
		program, _, _ := strings.Cut(strings.TrimSpace(filter), " ")
		c.Expect(usual).To(gomega.ContainElement(program), "%s: %s", page, line)
		if _, err := exec.LookPath(program); err != nil {
			c.t.Logf("%s: not typed to its end, since there is no %s here: %s", page, program, line)
			return
		}
	}
	printed, err := c.types(line)
	nothing := strings.Contains(filters, "grep ") && strings.TrimSpace(printed) == ""
	if err != nil && !nothing {
		c.t.Errorf("%s: %s: %v\n%s", page, line, err, printed)
	}
}

// deployed puts the Deployment of config/default beside the manager, which runs as a process here, and returns the name of one of its
// Pods. No container runs in it.
func (c *cluster) deployed() (pod string) {
	c.t.Helper()
	manifests := strings.Split(c.must("", "kustomize", "../../config/default"), "\n---\n")
	i := slices.IndexFunc(manifests, func(object string) bool { return strings.Contains(object, "\nkind: Deployment\n") })
	c.must(manifests[i], "-n", operator.Namespace, "apply", "-f", "-")
	c.t.Cleanup(func() {
		if out, err := c.types("kubectl -n " + operator.Namespace + " delete deploy --all"); err != nil {
			c.t.Error(out)
		}
	})
	c.must("", "-n", operator.Namespace, "rollout", "status", "deploy", "workload-operator-controller-manager")
	return c.must("", "-n", operator.Namespace, "get", "pods", "-l", "app.kubernetes.io/name=workload-operator", "-o", "jsonpath={.items[0].metadata.name}")
}
