package migration

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func replaced(t *testing.T, value []byte, before, after string) []byte {
	t.Helper()
	if !bytes.Contains(value, []byte(before)) {
		t.Fatalf("%s is not in %s", before, value)
	}
	return bytes.Replace(value, []byte(before), []byte(after), 1)
}

// M-05: a run that is killed, again and again at random moments, ends with every object migrated. Every object is created and
// rewritten, and never written a third time.
func TestKilled(t *testing.T) {
	c := start(t)
	c.create(*objects)
	c.store("v1")
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	killed := 0
	var report *Report
	for range *kills {
		at := 1 + random.IntN(2**objects / *kills + 1)
		ctx, kill := context.WithCancel(t.Context())
		steps := 0
		e := c.engine(Options{PageSize: 10, Workers: 4, Observe: func(p Progress) {
			if p.Phase != PhaseWaiting {
				steps++
			}
			if steps == at {
				kill()
			}
		}})
		var err error
		report, err = e.Run(ctx, crdName)
		kill()
		if err == nil {
			break
		}
		c.Expect(err).To(gomega.MatchError(context.Canceled))
		killed++
	}
	if report == nil {
		report = c.run(Options{PageSize: 10})
	}
	t.Logf("killed %d times; %+v", killed, report)
	c.Expect(killed).To(gomega.BeNumerically(">", 0))
	c.Expect(report.Verified).To(gomega.BeTrue())
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1"}))
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": *objects}))
	for name, entry := range c.stored() {
		if entry.Writes != 2 {
			t.Errorf("%s was written %d times", name, entry.Writes)
		}
	}
}

// A run goes on where the record says, and a record of another generation is worth nothing.
func TestResume(t *testing.T) {
	c := start(t)
	c.create(40)
	c.store("v1")
	ctx, kill := context.WithCancel(t.Context())
	e := c.engine(Options{PageSize: 10, Workers: 1, Observe: func(p Progress) {
		if p.Phase == PhaseRewriting && p.Done == 25 {
			kill()
		}
	}})
	r := e.newRun(crdName)
	c.Expect(r.await(ctx)).To(gomega.Succeed())
	c.Expect(r.begin(ctx)).To(gomega.Succeed())
	r.noted = time.Time{} // the next page is noted at once
	c.Expect(r.rewriteFrom(ctx, "")).To(gomega.MatchError(context.Canceled))

	status, err := c.engine(Options{}).Status(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(status.Record.Phase).To(gomega.Equal(PhaseRewriting))
	c.Expect(status.Record.Position).NotTo(gomega.BeEmpty())

	c.Expect(c.etcd.Compact(t.Context())).To(gomega.Succeed()) // the position may have expired, as far as this API server has no snapshot
	report := c.run(Options{PageSize: 10})
	c.Expect(report.Resumed).To(gomega.BeTrue())
	c.Expect(report.Objects).To(gomega.Equal(30))
	c.Expect(report.Verified && report.Trimmed).To(gomega.BeTrue())
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": 40}))
}

// M-06: an object turns out to be stored in the older version after all. It is named, and that verification trims nothing.
func TestStaleObject(t *testing.T) {
	c := start(t)
	c.create(12)
	former := c.stored()["app-00004"]
	c.store("v1")
	r := c.engine(Options{}).newRun(crdName)
	c.Expect(r.await(t.Context())).To(gomega.Succeed())
	c.Expect(r.rewrite(t.Context())).To(gomega.Succeed())
	c.Expect(c.etcd.Put(t.Context(), former.Key, former.Value)).To(gomega.Succeed())

	record := func() *Record {
		status, err := c.engine(Options{}).Status(t.Context(), crdName)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		return status.Record
	}
	latest := record()
	c.Expect(latest).NotTo(gomega.BeNil())
	verified, err := c.engine(Options{Actor: "verifier"}).Verify(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(record()).To(gomega.Equal(latest), "a verification is no run")
	c.Expect(verified.Complete() || verified.Verified || verified.Trimmed).To(gomega.BeFalse())
	c.Expect(verified.Stale).To(gomega.Equal(1))
	c.Expect(verified.StaleObjects[0].Name).To(gomega.Equal("app-00004"))
	c.Expect(verified.StaleObjects[0].Reason).To(gomega.ContainSubstring("another version than v1"))
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}))

	verified, err = c.engine(Options{}).Verify(t.Context(), crdName)
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(verified.Verified).To(gomega.BeTrue())
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}), "verify does not trim")

	// The same in a run: only the second verification is the proof.
	var once sync.Once
	said := &told{}
	report := c.run(Options{Observe: func(p Progress) {
		said.observe(p)
		if p.Phase == PhaseVerifying {
			once.Do(func() { c.Expect(c.etcd.Put(t.Context(), former.Key, former.Value)).To(gomega.Succeed()) })
		}
	}})
	c.Expect(report.StaleObjects).To(gomega.HaveLen(1))
	c.Expect(report.Verified && report.Trimmed).To(gomega.BeTrue())
	c.Expect(said.work()).To(gomega.Equal([]Phase{PhaseRewriting, PhaseVerifying, PhaseVerifying, PhaseDone}))
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1": 12}))
}

// M-06: the definition changes during the verification. Another caBundle costs another verification.
func TestDefinitionChangesMeanwhile(t *testing.T) {
	c := start(t)
	c.create(12)
	c.store("v1")
	var once sync.Once
	said := &told{}
	report := c.run(Options{Observe: func(p Progress) {
		said.observe(p)
		if p.Phase == PhaseVerifying && p.Done >= 6 {
			once.Do(func() {
				patch := fmt.Sprintf(`{"spec":{"conversion":{"webhook":{"clientConfig":{"caBundle":%q}}}}}`, c.authority(2))
				c.Expect(c.patchCRD(t.Context(), patch)).To(gomega.Succeed())
			})
		}
	}})
	c.Expect(report.Trimmed).To(gomega.BeTrue())
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1"}))
	c.Expect(said.work()).To(gomega.Equal([]Phase{PhaseRewriting, PhaseVerifying, PhaseVerifying, PhaseDone}))
}

// M-06: a change that is none of the spec makes the trim fail with a conflict; it is tried again with what is there now.
func TestTrimConflict(t *testing.T) {
	c := start(t)
	c.create(2)
	c.store("v1")
	r := c.engine(Options{}).newRun(crdName)
	c.Expect(r.await(t.Context())).To(gomega.Succeed())
	c.Expect(r.rewrite(t.Context())).To(gomega.Succeed())
	c.Expect(c.patchCRD(t.Context(), `{"metadata":{"annotations":{"example.net/note":"x"}}}`)).To(gomega.Succeed())
	c.Expect(apierrors.IsConflict(r.writeStoredVersions(t.Context(), r.definition))).To(gomega.BeTrue())
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}))
	same, err := r.trim(t.Context())
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(same && r.report.Trimmed).To(gomega.BeTrue())
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1"}))
}

// The storage version is changed back during the verification: nothing is trimmed, and the run says so.
func TestStorageVersionMoves(t *testing.T) {
	c := start(t)
	c.create(12)
	c.store("v1")
	var once sync.Once
	_, err := c.engine(Options{Observe: func(p Progress) {
		if p.Phase == PhaseVerifying && p.Done == 12 {
			once.Do(func() { c.store("v1alpha1") })
		}
	}}).Run(t.Context(), crdName)
	c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("run it again")))
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1", "v1"}))
}

// M-08, the engine's part: everything goes back to the older version, and forward again. Nothing is lost on the way.
func TestRollback(t *testing.T) {
	c := start(t)
	c.create(20)
	c.store("v1")
	v1, v1alpha1 := c.specs("v1"), c.specs("v1alpha1")
	c.Expect(c.run(Options{}).Trimmed).To(gomega.BeTrue())

	report, err := c.engine(Options{}).Rollback(t.Context(), crdName, "v1alpha1")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(report.Trimmed).To(gomega.BeTrue())
	c.Expect(report.Target).To(gomega.Equal("v1alpha1"))
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1alpha1": 20}))
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1alpha1"}))
	c.Expect(c.specs("v1")).To(gomega.Equal(v1))
	c.Expect(c.specs("v1alpha1")).To(gomega.Equal(v1alpha1))
	for name, entry := range c.stored() {
		c.Expect(string(entry.Value)).NotTo(gomega.ContainSubstring(`"apiVersion":"app.example.com/v1",`), name)
	}

	again, err := c.engine(Options{}).Rollback(t.Context(), crdName, "v1alpha1")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(again.Unchanged).To(gomega.Equal(20))
	forth, err := c.engine(Options{}).Rollback(t.Context(), crdName, "v1")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(forth.Trimmed).To(gomega.BeTrue())
	c.Expect(c.specs("v1")).To(gomega.Equal(v1))
	_, err = c.engine(Options{}).Rollback(t.Context(), crdName, "v2")
	c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("has no version v2")))
}

// A rollback that somebody would refuse does not begin.
func TestRollbackRefused(t *testing.T) {
	c := start(t)
	c.create(4)
	c.store("v1")
	c.Expect(c.run(Options{}).Trimmed).To(gomega.BeTrue())
	c.forbid("app-00001")
	report, err := c.engine(Options{}).Rollback(t.Context(), crdName, "v1alpha1")
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(report.Refused).To(gomega.Equal(1))
	c.Expect(c.storedVersions()).To(gomega.Equal([]string{"v1"}))
}

// Definitions that objects cannot be migrated with are waited for, and say what is missing.
func TestUnusableDefinition(t *testing.T) {
	c := start(t)
	c.create(2)
	c.store("v1")
	c.Expect(c.patchCRD(t.Context(), `{"spec":{"conversion":{"strategy":"None","webhook":null}}}`)).To(gomega.Succeed())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := c.engine(Options{}).Run(ctx, crdName)
	c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("no conversion webhook")))
	c.Expect(strings.Contains(err.Error(), "deadline")).To(gomega.BeTrue())
	c.Expect(c.storedIn()).To(gomega.Equal(map[string]int{"v1alpha1": 2}))
	_, err = c.engine(Options{}).Run(t.Context(), "nothings.example.com")
	c.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("not found")))
}
