package migration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/onsi/gomega"
)

// M-01, the engine's part: everything is rewritten and reads as before, in both versions; a second run writes nothing.
func TestRun(t *testing.T) {
	c := start(t)
	c.create(60)
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1alpha1": 60}))
	c.store("v1")
	v1, v1alpha1 := c.specs("v1"), c.specs("v1alpha1")
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}))

	report := c.run(Options{PageSize: 17})
	c.Expect(report.Duration).To(gomega.BeNumerically(">", 0))
	want := &Report{CRD: crdName, Target: "v1", StoredVersions: []string{"v1"}, Objects: 60, Rewritten: 60, Owners: 30, Verified: true, Trimmed: true, Duration: report.Duration}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": 60}))
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1"}))
	if diff := cmp.Diff(v1, c.specs("v1")); diff != "" {
		t.Errorf("v1 reads differently:\n%s", diff)
	}
	if diff := cmp.Diff(v1alpha1, c.specs("v1alpha1")); diff != "" {
		t.Errorf("v1alpha1 reads differently:\n%s", diff)
	}

	before := c.resourceVersions()
	again := c.run(Options{})
	c.Expect(again.Unchanged).To(gomega.Equal(60))
	c.Expect(again.Trimmed).To(gomega.BeFalse())
	if diff := cmp.Diff(before, c.resourceVersions()); diff != "" {
		t.Errorf("a second run wrote objects:\n%s", diff)
	}
	status, err := c.engine(Options{}).Status(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(status.Pending).To(gomega.BeFalse(), status.Reason)
	c.Expect(status.Record.Phase).To(gomega.Equal(PhaseDone))
}
