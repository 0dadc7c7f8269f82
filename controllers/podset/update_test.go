package podset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

func strategy(kind batchv1.UpdateStrategyType, maxUnavailable string, partition int32) func(*observation) {
	return spec(func(s *batchv1.PodSetSpec) {
		s.UpdateStrategy = &batchv1.UpdateStrategy{Type: kind, RollingUpdate: &batchv1.RollingUpdate{Partition: &partition}}
		if maxUnavailable != "" {
			s.UpdateStrategy.RollingUpdate.MaxUnavailable = new(intstr.Parse(maxUnavailable))
		}
	})
}

// onOldContainer is a Pod whose image was patched, and whose old container still runs.
func onOldContainer(p *corev1.Pod) {
	p.Annotations = map[string]string{annotationReplacedContainer: "c-1"}
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "app", ContainerID: "c-1"}}
}

// TestUpdate covers P-14.
func TestUpdate(t *testing.T) {
	cases := map[string]struct {
		reason string
		seen   *observation
		want   intent
	}{
		"one at a time": {
			"the default",
			observed(running(many(3, "old", of(oldImage))...)), intent{Replace: []string{"old-0"}},
		},
		"one is away already": {
			"the budget is used up; what is missing is created",
			observed(running(many(2, "old", of(oldImage))...)), intent{Create: 1},
		},
		"the new one is not ready": {
			"nobody else goes before it is",
			observed(running(append(many(2, "old", of(oldImage)), pod("new", notReady))...)), intent{},
		},
		"old and not ready": {
			"it serves nobody, so it goes first, and the budget is used up by it",
			observed(running(pod("old", of(oldImage)), pod("older", of(oldImage)), pod("sick", of(oldImage), notReady))),
			intent{Replace: []string{"sick"}},
		},
		"all old ones are sick": {
			"a broken rollout is corrected at once",
			observed(running(many(3, "old", of(oldImage), notReady)...)), intent{Replace: []string{"old-0", "old-1", "old-2"}},
		},
		"partition": {
			"so many Pods stay",
			observed(wanting(5), strategy("", "5", 2), running(many(5, "old", of(oldImage))...)),
			intent{Replace: []string{"old-0", "old-1", "old-2"}},
		},
		"partition reached": {
			"nothing to do",
			observed(wanting(5), strategy("", "5", 2), running(append(many(2, "old", of(oldImage)), many(3, "new")...)...)),
			intent{},
		},
		"percentage": {
			"rounded down",
			observed(wanting(5), strategy("", "50%", 0), running(many(5, "old", of(oldImage))...)),
			intent{Replace: []string{"old-0", "old-1"}},
		},
		"small percentage": {
			"but at least one",
			observed(strategy("", "10%", 0), running(many(3, "old", of(oldImage))...)), intent{Replace: []string{"old-0"}},
		},
		"on delete": {
			"the user decides",
			observed(strategy(batchv1.OnDeleteStrategy, "", 0), running(many(3, "old", of(oldImage))...)), intent{},
		},
		"paused": {
			"P-15: no update",
			observed(spec(func(s *batchv1.PodSetSpec) { s.Paused = true }), running(many(3, "old", of(oldImage))...)), intent{},
		},
		"paused, one is missing": {
			"P-15: healing goes on",
			observed(spec(func(s *batchv1.PodSetSpec) { s.Paused = true }), running(many(2, "old", of(oldImage))...)), intent{Create: 1},
		},
		"too many": {
			"first the surplus, then the update",
			observed(running(many(4, "old", of(oldImage))...)), intent{Remove: []string{"old-0"}},
		},
		"in place": {
			"only the image changed",
			observed(strategy(batchv1.InPlaceStrategy, "2", 0), running(many(3, "old", of(oldImage))...)),
			intent{Patch: []string{"old-0", "old-1"}},
		},
		"in place, more changed": {
			"it is created anew",
			observed(strategy(batchv1.InPlaceStrategy, "", 0), running(many(3, "old", of(oldArgs))...)),
			intent{Replace: []string{"old-0"}},
		},
		"in place, foreign Pod": {
			"an adopted Pod without our revision is created anew",
			observed(strategy(batchv1.InPlaceStrategy, "", 0), running(many(3, "old", of(revision{}))...)),
			intent{Replace: []string{"old-0"}},
		},
		"in place, under way": {
			"what is reported of the old container does not count",
			observed(strategy(batchv1.InPlaceStrategy, "", 0), running(append(many(2, "old", of(oldImage)), pod("new", onOldContainer))...)),
			intent{},
		},
		"rolling update ignores what only the image changed": {
			"patching is for InPlace alone",
			observed(strategy(batchv1.RollingUpdateStrategy, "", 0), running(many(3, "old", of(oldImage))...)),
			intent{Replace: []string{"old-0"}},
		},
		"refused": {
			"no Pod is given up while new ones are refused",
			observed(refusedUntil(time.Minute, 4), running(many(3, "old", of(oldImage))...)), intent{Held: true, Wake: time.Minute},
		},
		"not ready for long enough": {
			"minReadySeconds sets the pace",
			observed(spec(func(s *batchv1.PodSetSpec) { s.MinReadySeconds = 30 }),
				running(append(many(2, "old", of(oldImage)), pod("new", readyFor(10*time.Second)))...)),
			intent{Wake: 20 * time.Second},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, intentOf(plan(c.seen))); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", c.reason, diff)
			}
		})
	}
}
