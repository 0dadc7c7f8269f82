package migration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// told collects what an engine told.
type told struct {
	mu      sync.Mutex
	waiting []string
	phases  []Phase // each time one begins
	done    int
}

func (t *told) observe(p Progress) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.Waiting != "" && !slices.Contains(t.waiting, p.Waiting) {
		t.waiting = append(t.waiting, p.Waiting)
	}
	if n := len(t.phases); n == 0 || t.phases[n-1] != p.Phase || p.Done < t.done {
		t.phases = append(t.phases, p.Phase)
	}
	t.done = p.Done
}

func (t *told) waitedFor() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.waiting)
}

// work is every phase but that of waiting, which a slow machine may have or not.
func (t *told) work() []Phase {
	return slices.DeleteFunc(slices.Clone(t.phases), func(p Phase) bool { return p == PhaseWaiting })
}

// M-02: while the webhook is down, a run waits, says for what, and writes nothing.
func TestWaitsForTheWebhook(t *testing.T) {
	c := start(t)
	c.create(10)
	c.down.Store(true)
	c.store("v1")
	before := c.stored()
	said := &told{}
	type result struct {
		report *Report
		err    error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		report, err := c.engine(Options{Observe: said.observe}).Run(ctx, crdName)
		done <- result{report, err}
	}()
	c.Eventually(said.waitedFor).WithTimeout(patience).Should(gomega.ContainElement(gomega.ContainSubstring("conversion webhook")))
	c.Consistently(done).WithTimeout(time.Second).ShouldNot(gomega.Receive())
	if diff := cmp.Diff(before, c.stored()); diff != "" {
		t.Errorf("objects were written:\n%s", diff)
	}
	crd, err := c.client.Resource(definitions).Get(t.Context(), crdName, metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(crd.GetAnnotations()).NotTo(gomega.HaveKey(AnnotationRecord))

	c.down.Store(false)
	var end result
	c.Eventually(done).WithTimeout(patience).Should(gomega.Receive(&end))
	c.Expect(end.err).NotTo(gomega.HaveOccurred())
	c.Expect(end.report.Rewritten).To(gomega.Equal(10))
	c.Expect(end.report.Trimmed).To(gomega.BeTrue())
	c.Expect(said.work()).To(gomega.Equal([]Phase{PhaseRewriting, PhaseVerifying, PhaseDone}))
}

// The webhook goes down half way: nobody is blamed, and the run goes on when it is back.
func TestOutage(t *testing.T) {
	c := start(t)
	c.create(40)
	c.store("v1")
	said := &told{}
	report := c.run(Options{Workers: 4, PageSize: 10, Observe: func(p Progress) {
		said.observe(p)
		if p.Phase == PhaseRewriting && p.Done >= 20 && len(said.waiting) == 0 {
			c.down.Store(true)
		}
		if p.Phase == PhaseWaiting && len(said.waiting) > 0 {
			c.down.Store(false)
		}
	}})
	c.Expect(report.Refused).To(gomega.BeZero())
	c.Expect(report.Trimmed).To(gomega.BeTrue())
	c.Expect(said.phases).To(gomega.ContainElement(PhaseWaiting))
}

var (
	policies = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}
)

// forbid refuses updates of the objects named so, until the returned function is called.
func (c *cluster) forbid(names ...string) (lift func()) {
	c.t.Helper()
	policy := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": map[string]any{"name": "frozen"},
		"spec": map[string]any{
			"failurePolicy": "Fail",
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{group}, "apiVersions": []any{"*"}, "operations": []any{"UPDATE"}, "resources": []any{"webapps"},
			}}},
			"validations": []any{map[string]any{"expression": "!(object.metadata.name in ['" + strings.Join(names, "', '") + "'])", "message": "this object is frozen"}},
		},
	}}
	binding := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": map[string]any{"name": "frozen"},
		"spec": map[string]any{"policyName": "frozen", "validationActions": []any{"Deny"}},
	}}
	_, err := c.client.Resource(policies).Create(c.t.Context(), policy, metav1.CreateOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = c.client.Resource(bindings).Create(c.t.Context(), binding, metav1.CreateOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	touch := func() error {
		_, err := c.in("v1").Patch(c.t.Context(), names[0], types.MergePatchType, []byte(`{}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	c.Eventually(touch).WithTimeout(patience).Should(gomega.MatchError(gomega.ContainSubstring("frozen")))
	lifted := false
	lift = func() {
		if lifted {
			return
		}
		lifted = true
		ctx := context.WithoutCancel(c.t.Context())
		c.Expect(c.client.Resource(bindings).Delete(ctx, "frozen", metav1.DeleteOptions{})).To(gomega.Succeed())
		c.Expect(c.client.Resource(policies).Delete(ctx, "frozen", metav1.DeleteOptions{})).To(gomega.Succeed())
		if c.t.Context().Err() == nil {
			c.Eventually(touch).WithTimeout(patience).Should(gomega.Succeed())
		}
	}
	c.t.Cleanup(lift)
	return lift
}

// M-03: seven of many are refused. The plan knows, the run does the others and names the seven, and nothing is trimmed. Once they
// may be written, they are the only ones that are.
func TestRefused(t *testing.T) {
	c := start(t)
	all := max(100, *objects)
	c.create(all)
	c.store("v1")
	var frozen []string
	for i := range 7 {
		frozen = append(frozen, fmt.Sprintf("app-%05d", 3+i*all/8))
	}
	others := all - len(frozen)
	lift := c.forbid(frozen...)
	names := func(problems []Problem) []string {
		var names []string
		for _, p := range problems {
			c.Expect(p.Reason).To(gomega.ContainSubstring("this object is frozen"))
			c.Expect(p.Namespace).To(gomega.Equal(namespace))
			names = append(names, p.Name)
		}
		slices.Sort(names)
		return names
	}
	before := c.stored()
	plan, err := c.engine(Options{}).Plan(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(names(plan.Refusals)).To(gomega.Equal(frozen))
	c.Expect(plan.Rewritten).To(gomega.Equal(others))
	if diff := cmp.Diff(before, c.stored()); diff != "" {
		t.Errorf("the plan wrote:\n%s", diff)
	}

	report := c.run(Options{PageSize: 30})
	c.Expect(report.Complete()).To(gomega.BeFalse())
	c.Expect(names(report.Refusals)).To(gomega.Equal(frozen))
	c.Expect(report.Rewritten).To(gomega.Equal(others))
	c.Expect(report.Verified || report.Trimmed).To(gomega.BeFalse())
	status, err := c.engine(Options{}).Status(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(names(status.Record.Refusals)).To(gomega.Equal(frozen), "whoever looks later is told, too")
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}))
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": others, "v1alpha1": len(frozen)}))

	versions := c.resourceVersions()
	lift()
	report = c.run(Options{})
	c.Expect(report.Rewritten).To(gomega.Equal(len(frozen)))
	c.Expect(report.Unchanged).To(gomega.Equal(others))
	c.Expect(report.Trimmed).To(gomega.BeTrue())
	status, err = c.engine(Options{}).Status(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(status.Record.Refusals).To(gomega.BeEmpty())
	for name, version := range c.resourceVersions() {
		if touched := version != versions[name]; touched != slices.Contains(frozen, name) {
			t.Errorf("%s: touched %t", name, touched)
		}
	}
}

// M-04: an object that is updated, deleted, or deleted and made anew meanwhile is no failure.
func TestObjectsThatMove(t *testing.T) {
	c := start(t)
	c.create(20)
	c.store("v1")
	var once sync.Once
	report := c.run(Options{Workers: 1, Observe: func(p Progress) {
		if p.Phase != PhaseRewriting || p.Done == 0 {
			return
		}
		once.Do(func() {
			_, err := c.in("v1").Patch(t.Context(), "app-00011", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{FieldManager: "test"})
			c.Expect(err).NotTo(gomega.HaveOccurred())
			for _, name := range []string{"app-00013", "app-00015"} {
				c.Expect(c.in("v1").Delete(t.Context(), name, metav1.DeleteOptions{})).To(gomega.Succeed())
			}
			_, err = c.in("v1").Create(t.Context(), webApp("v1", "app-00015"), metav1.CreateOptions{})
			c.Expect(err).NotTo(gomega.HaveOccurred())
		})
	}})
	c.Expect(report.Moved).To(gomega.Equal(3))
	c.Expect(report.Rewritten).To(gomega.Equal(17))
	c.Expect(report.Complete() && report.Trimmed).To(gomega.BeTrue(), "%+v", report)
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": 19}))
	_, err := c.in("v1").Get(t.Context(), "app-00013", metav1.GetOptions{})
	c.Expect(apierrors.IsNotFound(err)).To(gomega.BeTrue())
}

// M-11: an object that today's rules refuse, and one that is being deleted but held by somebody, are migrated.
func TestOddObjects(t *testing.T) {
	c := start(t)
	c.create(4)
	entry := c.stored()["app-00000"]
	invalid := replaced(t, entry.Value, `"instances":3`, `"instances":99`)
	c.Expect(c.etcd.Put(t.Context(), entry.Key, invalid)).To(gomega.Succeed())
	_, err := c.in("v1").Patch(t.Context(), "app-00002", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.net/hold"]}}`), metav1.PatchOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(c.in("v1").Delete(t.Context(), "app-00002", metav1.DeleteOptions{})).To(gomega.Succeed())
	c.t.Cleanup(func() {
		_, err := c.in("v1").Patch(context.WithoutCancel(t.Context()), "app-00002", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		c.Expect(err).NotTo(gomega.HaveOccurred())
	})
	c.store("v1")
	report := c.run(Options{})
	c.Expect(report.Refusals).To(gomega.BeEmpty())
	c.Expect(report.Rewritten).To(gomega.Equal(4))
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": 4}))
	object, err := c.in("v1").Get(t.Context(), "app-00000", metav1.GetOptions{})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(object.Object["spec"]).To(gomega.HaveKeyWithValue("replicas", int64(99)))
}
