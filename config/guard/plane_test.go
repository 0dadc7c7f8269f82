package guard_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/config/guard"
	"github.com/example/workload-operator/test/controlplane"
)

const (
	soon     = 30 * time.Second
	interval = 50 * time.Millisecond
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // of the client
	os.Exit(controlplane.Main(m, controlplane.Options{Parts: controlplane.APIOnly()}))
}

// cluster is an API server with the policy in force and the first of our definitions.
type cluster struct {
	*gomega.WithT
	t      *testing.T
	client client.Client
}

func connect(t *testing.T) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(admissionv1.AddToScheme, apiextensionsv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(controlplane.Attach(t).RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{WithT: gomega.NewWithT(t), t: t, client: c}
}

func (c *cluster) create(file string, object client.Object) {
	c.t.Helper()
	data, err := os.ReadFile(file)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(yaml.UnmarshalStrict(data, object)).To(gomega.Succeed())
	c.Expect(c.client.Create(c.t.Context(), object)).To(gomega.Succeed())
}

func (c *cluster) live() *apiextensionsv1.CustomResourceDefinition {
	c.t.Helper()
	crd := at(c.t, config.StepR3)
	c.Expect(c.client.Get(c.t.Context(), client.ObjectKeyFromObject(crd), crd)).To(gomega.Succeed())
	return crd
}

// change gives the live definition the spec that change makes of it.
func (c *cluster) change(change func(*apiextensionsv1.CustomResourceDefinition), options ...client.UpdateOption) error {
	c.t.Helper()
	var err error
	c.Eventually(func() bool {
		crd := c.live()
		change(crd)
		err = c.client.Update(c.t.Context(), crd, options...)
		return apierrors.IsConflict(err)
	}, soon, interval).Should(gomega.BeFalse(), "the API server goes on writing its status")
	return err
}

func (c *cluster) step(step config.Step, options ...client.UpdateOption) error {
	c.t.Helper()
	spec := at(c.t, step).Spec
	return c.change(func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec = *spec.DeepCopy() }, options...)
}

// storing sets status.storedVersions, as a migration does. That is a subresource, which the policy leaves alone.
func (c *cluster) storing(versions ...string) {
	c.t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"storedVersions":["`+strings.Join(versions, `","`)+`"]}}`))
	c.Expect(c.client.Status().Patch(c.t.Context(), c.live(), patch)).To(gomega.Succeed())
}

// reach brings the live definition into a state, by changes that are all allowed.
func (c *cluster) reach(s state) {
	c.t.Helper()
	c.Expect(c.step(config.StepR3)).To(gomega.Succeed())
	switch s.step {
	case config.StepR1:
		c.Expect(c.step(config.StepR2)).To(gomega.Succeed())
		c.storing(older)
	case config.StepR5:
		c.storing(newer)
		c.Expect(c.step(config.StepR4)).To(gomega.Succeed())
	case config.StepR4:
		c.storing(newer)
	}
	c.Expect(c.step(s.step)).To(gomega.Succeed())
	c.storing(s.stored...)
}

// agree wants the API server and Check to say the same, and both to say what the test wants. The API server may have refused on
// its own account before the policy was asked.
func (c *cluster) agree(what string, change func(*apiextensionsv1.CustomResourceDefinition), want string) {
	c.t.Helper()
	next := c.live()
	change(next)
	verdict := guard.Check(c.t.Context(), c.live(), next)
	check(c.t, what, verdict, want)
	err := c.change(change, client.DryRunAll)
	switch {
	case (err == nil) != (verdict == nil):
		c.t.Errorf("%s: the API server says %v, Check says %v", what, err, verdict)
	case err != nil && !strings.Contains(err.Error(), verdict.Error()) && !strings.Contains(err.Error(), "missing from spec.versions"):
		c.t.Errorf("%s: the API server says %v, want what Check says: %v", what, err, verdict)
	}
}

// M-09: the policy and Check are one. Every step from every state, and other changes, are sent to a real API server.
func TestPolicyOnPlane(t *testing.T) {
	c := connect(t)
	c.create("crd_guard.yaml", &admissionv1.ValidatingAdmissionPolicy{})
	c.create("crd_guard_binding.yaml", &admissionv1.ValidatingAdmissionPolicyBinding{})
	mixed := at(t, config.StepR3)
	without(mixed)
	c.Eventually(func() error { return c.client.Create(t.Context(), mixed.DeepCopy(), client.DryRunAll) }, soon, interval).Should(
		gomega.MatchError(gomega.ContainSubstring("keep the conversion stanza")), "the policy is in force, and judges creation")
	for _, step := range config.Steps() {
		c.Expect(c.client.Create(t.Context(), at(t, step), client.DryRunAll)).To(gomega.Succeed(), "creation at %s", step)
	}
	c.Expect(c.client.Create(t.Context(), at(t, config.StepR1))).To(gomega.Succeed())

	for _, row := range matrix {
		c.reach(row.from)
		for i, step := range config.Steps() {
			spec := at(t, step).Spec
			c.agree(row.from.String()+" to "+string(step), func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec = *spec.DeepCopy() }, row.to[i])
		}
	}
	for name, test := range otherChanges {
		c.reach(test.from)
		c.agree(name+": "+test.reason, test.change, test.want)
	}
}

// Definitions of other people are none of our business.
func TestPolicySparesOthers(t *testing.T) {
	c := connect(t)
	crd := at(t, config.StepR3)
	crd.Spec.Group, crd.Spec.Names.Plural, crd.Name = "example.org", "others", "others.example.org"
	crd.ObjectMeta = metav1.ObjectMeta{Name: crd.Name}
	without(crd)
	c.Expect(c.client.Create(t.Context(), crd, client.DryRunAll)).To(gomega.Succeed())
}
