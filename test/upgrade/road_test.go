package upgrade

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/example/workload-operator/config"
)

// act is a part of the road; when one fails, the rest has no meaning.
func act(t *testing.T, r *road, name string, body func()) {
	t.Helper()
	outer, outerT := r.t, r.WithT
	if !t.Run(name, func(t *testing.T) {
		r.t, r.WithT = t, gomega.NewWithT(t)
		started := time.Now()
		body()
		t.Logf("took %s", time.Since(started).Round(100*time.Millisecond))
	}) {
		t.FailNow()
	}
	r.t, r.WithT = outer, outerT
}

// M-01, M-08, M-09, M-10: the whole road, with every step back, while clients read and write in every served version.
func TestRoad(t *testing.T) {
	r := enter(t, config.StepR1)
	var old, current *traffic
	var before picture
	total := 2 * len(kinds) * *objects // created in two versions

	act(t, r, "R1 with an operator that waits for R2", func() {
		r.create(older, *objects)
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{older: total / 2}))
		r.launch()
		r.Eventually(func() error { return r.operator.Readiness(t.Context()) }, patience, interval).Should(
			gomega.MatchError(gomega.ContainSubstring("does not serve version v1: install the definitions of this release, or take step R2")))
		r.applyBoth(older, "old-manager", "1")
		r.refused(config.StepR4, "take step R3 first (workloadctl crds --step R3 --apply), then run workloadctl migrate run")
		old = r.begin(older)
		r.dwell()
		r.Expect(r.running()).To(gomega.BeTrue(), "it waits instead of ending")
	})
	act(t, r, "R1 to R2: the operator goes on, and both versions are served", func() {
		generation := r.definitions()[webApps].Generation
		r.step(config.StepR2)
		r.start()
		r.Expect(r.definitions()[webApps].Generation).To(gomega.Equal(generation+1), "the caBundle came with the step, not after it")
		r.dwell()
		old.report(r, "R1 to R2")
		r.create(newer, *objects)
		r.ready()
		before = r.look(older, newer)
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{older: total}))
		current = r.begin(newer)
		r.applyBoth(newer, "new-manager", "1")
	})
	act(t, r, "R2 to R4 is refused", func() { // M-09
		r.refused(config.StepR4, "take step R3 first (workloadctl crds --step R3 --apply), then run workloadctl migrate run")
		r.refused(config.StepR5, "objects may still be stored as v1alpha1, which would be gone")
	})
	act(t, r, "back to R1, and R2 again", func() {
		current.end(r, "R2")
		r.migrate() // leaves nothing of v1 in managedFields, which server-side apply would stumble over
		r.step(config.StepR1)
		r.stop()
		r.dwell()
		old.report(r, "back to R1")
		r.unchanged(before, older)
		r.applyBoth(older, "old-manager", "2")
		r.launch()
		r.step(config.StepR2)
		r.start()
		r.unchanged(before, older, newer)
		current = r.begin(newer)
		r.dwell()
		old.report(r, "R1 to R2 again")
		current.report(r, "R1 to R2 again")
	})
	act(t, r, "R2 to R3, back, and R3 again, without a migration", func() {
		for _, step := range []config.Step{config.StepR3, config.StepR2, config.StepR3} {
			r.step(step)
			r.dwell()
			old.report(r, "to "+string(step))
			current.report(r, "to "+string(step))
			r.unchanged(before, older, newer)
		}
		r.Expect(r.storedVersions(webApps)).To(gomega.ConsistOf(older, newer))
		r.Expect(r.stored()[older]).To(gomega.BeNumerically(">", 0), "nobody has migrated")
		r.refused(config.StepR4, "run workloadctl migrate run first")
		r.refused(config.StepR1, "run workloadctl migrate rollback first")
	})
	act(t, r, "the migration", func() {
		r.migrate()
		old.report(r, "migration")
		current.report(r, "migration")
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{newer: total}))
		r.Expect(r.storedVersions(webApps)).To(gomega.Equal([]string{newer}))
		r.unchanged(before, older, newer)
	})
	act(t, r, "rollback to R2, and forward again", func() { // M-08
		r.rollback()
		r.Expect(r.steps()).To(gomega.HaveEach(config.StepR2))
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{older: total}))
		r.unchanged(before, older, newer)
		r.step(config.StepR3)
		r.migrate()
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{newer: total}))
		old.report(r, "rollback and forward")
		current.report(r, "rollback and forward")
		r.unchanged(before, older, newer)
		r.refused(config.StepR5, "take step R4 first")
	})
	act(t, r, "R3 to R4, back, and R4 again", func() {
		old.end(r, "R3")
		for _, step := range []config.Step{config.StepR4, config.StepR3, config.StepR4} {
			r.step(step)
			r.dwell()
			current.report(r, "to "+string(step))
		}
		r.Eventually(func() bool { return gone(ignoring(r.apply(t.Context(), kinds[0], older, "old-manager", "3"))) }, patience, interval).Should(gomega.BeTrue())
		r.stop()
		r.start() // M-10: nothing of R4 keeps an operator from starting
		r.migrate()
		r.unchanged(before, newer)
	})
	act(t, r, "R4 to R5", func() {
		r.step(config.StepR5)
		r.dwell()
		current.report(r, "R5")
		r.applyBoth(newer, "old-manager", "4") // M-07: managers of the version that is gone
		r.applyBoth(newer, "new-manager", "2")
		r.stop()
		current.end(r, "R5 without an operator")
		r.start()
		r.Expect(r.stored()).To(gomega.Equal(map[string]int{newer: total}))
		r.unchanged(before, newer)
	})
}

// dwell lets clients read and write for a while.
func (r *road) dwell() { r.pause(*dwell) }

func (r *road) pause(length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.t.Context().Done():
	}
}

// M-09: R1 to R3 at once.
func TestSkipR2(t *testing.T) {
	r := enter(t, config.StepR1)
	r.create(older, 1)
	r.launch()
	r.step(config.StepR3)
	r.start()
	r.ready()
	before := r.look(older, newer)
	r.migrate()
	r.Expect(r.stored()).To(gomega.Equal(map[string]int{newer: 2}))
	r.unchanged(before, older, newer)
}

// O-06: the webhook has gone for good after the migration.
func TestWithoutWebhookAfterMigration(t *testing.T) {
	r := enter(t, config.StepR3)
	r.create(newer, 1)
	r.ready()
	r.migrate()
	r.stop()
	service := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	service.SetNamespace("workload-operator-system")
	service.SetName("workload-operator-webhook-service")
	r.Expect(r.client.Delete(t.Context(), service)).To(gomega.Succeed())
	defer func() {
		r.Expect(r.operator.Install(t.Context())).To(gomega.Succeed())
		r.start()
	}()

	for _, k := range kinds {
		name := newer + "-0"
		_, err := r.of(k, newer).Get(t.Context(), name, metav1.GetOptions{})
		r.Expect(err).NotTo(gomega.HaveOccurred())
		r.Expect(r.list(r, k.in(newer))).To(gomega.HaveLen(1))
		_, err = r.of(k, newer).Patch(t.Context(), name, types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{})
		r.Expect(err).NotTo(gomega.HaveOccurred(), "the v1 webhooks are not needed")
		_, err = r.of(k, older).Get(t.Context(), name, metav1.GetOptions{})
		r.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("conversion webhook")))
	}
	// An owner goes, and what it owns; then everything else with the namespace.
	r.Expect(r.of(kinds[0], newer).Delete(t.Context(), newer+"-0", metav1.DeleteOptions{})).To(gomega.Succeed())
	r.Eventually(func() int { return len(r.list(r, children[0])) }, collectorPatience, interval).Should(gomega.BeZero(), "Deployments")
	r.Expect(r.dynamic.Resource(namespaces).Delete(t.Context(), r.namespace, metav1.DeleteOptions{})).To(gomega.Succeed())
	r.Eventually(func() bool {
		_, err := r.dynamic.Resource(namespaces).Get(t.Context(), r.namespace, metav1.GetOptions{})
		return gone(err)
	}, collectorPatience, interval).Should(gomega.BeTrue(), "the namespace is deleted")
}
