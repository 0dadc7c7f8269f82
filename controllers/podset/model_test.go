package podset

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

var (
	modelSeed  = flag.Uint64("podset-seed", 0, "seed of the model test; 0 takes a new one for each run")
	modelCount = flag.Int("podset-histories", 300, "number of histories of the model test")
)

// TestModel plays random histories: users change the spec and Pods, Pods come up and fail, caches are late, the operator
// restarts, requests are refused and answers get lost. At every moment must hold that no more Pods are created than were
// wanted and that no foreign Pod is touched. When the storm is over, everything is as the spec says, and then quiet.
func TestModel(t *testing.T) {
	seed := *modelSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	for i := range *modelCount {
		history := seed + uint64(i)
		if broken := playHistory(t.Context(), history); len(broken) > 0 {
			t.Fatalf("repeat with -podset-seed=%d -podset-histories=1: %v", history, broken)
		}
	}
	t.Logf("seed %d", seed)
}

// history is one run of the model.
type history struct {
	*modelAPI
	clock      *testingclock.FakePassiveClock
	reconciler *Reconciler
	named      int
}

func playHistory(ctx context.Context, seed uint64) []string {
	h := &history{clock: testingclock.NewFakePassiveClock(epoch)}
	h.modelAPI = newModelAPI(rand.New(rand.NewPCG(seed, 0)), h.clock.Now)
	podSet := base("web")
	podSet.Namespace, podSet.UID, podSet.Generation = "ns", "uid-web", 1
	podSet.Status.ObservedGeneration = -1
	h.setPodSet(podSet)
	h.addForeign()
	h.restart()
	h.faulty = true
	for range 150 {
		h.step(ctx)
		if len(h.broken) > 0 {
			return h.broken
		}
	}
	h.calm(ctx)
	return h.broken
}

// addForeign puts a Pod with our label and another controller beside ours.
func (h *history) addForeign() {
	foreign := pod("foreign", managed)
	foreign.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", UID: "other", Controller: new(true)}}
	h.setPod(foreign)
}

func (h *history) restart() {
	h.reconciler = &Reconciler{
		client: &modelClient{modelAPI: h.modelAPI},
		claims: &claims{reader: &modelClient{modelAPI: h.modelAPI}},
		live:   &modelClient{modelAPI: h.modelAPI, live: true},
		events: silent{},
		clock:  h.clock,
		width:  1, // one request after the other, so that a seed always gives the same history
		newName: func(prefix string) string {
			h.named++
			return fmt.Sprintf("%s%05d", prefix, h.named)
		},
		progress: newWatchProgress(),
		alive:    newAlivePods(),
		records:  &records{byKey: map[types.NamespacedName]*record{}},
	}
	h.relist(h.reconciler)
}

type silent struct{ events.EventRecorder }

func (silent) Eventf(runtime.Object, runtime.Object, string, string, string, string, ...any) {}

func (h *history) reconcile(ctx context.Context) (ctrl.Result, error) {
	return h.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "web"}})
}

// step does one thing that may happen in a cluster.
func (h *history) step(ctx context.Context) {
	switch h.random.IntN(14) {
	case 0:
		h.user()
	case 1:
		h.restart()
	case 2:
		h.clock.SetTime(h.clock.Now().Add(time.Duration(h.random.IntN(40)) * time.Second))
	case 3, 4, 5:
		h.kubelet()
	case 6, 7:
		h.deliver(1 + h.random.IntN(6))
		h.tell(1+h.random.IntN(6), h.reconciler)
	case 8, 9:
		h.deliverPodSet(1 + h.random.IntN(3))
	default:
		// Errors are part of the storm; the next pass comes anyway.
		_, _ = h.reconcile(ctx)
	}
}

// user changes the spec.
func (h *history) user() {
	p := h.podSet.DeepCopy()
	p.Generation++
	switch h.random.IntN(6) {
	case 0:
		p.Spec.Image = fmt.Sprintf("nginx:%d", h.random.IntN(3))
	case 1:
		p.Spec.Args = []string{fmt.Sprint(h.random.IntN(2))}
	case 2:
		p.Spec.Suspend = !p.Spec.Suspend
	case 3:
		p.Spec.Paused = !p.Spec.Paused
	case 4:
		kinds := []batchv1.UpdateStrategyType{batchv1.RollingUpdateStrategy, batchv1.InPlaceStrategy, batchv1.OnDeleteStrategy}
		p.Spec.UpdateStrategy = &batchv1.UpdateStrategy{Type: kinds[h.random.IntN(3)]}
	default:
		p.Spec.Replicas = new(int32(1 + h.random.IntN(6)))
	}
	h.setPodSet(p)
}

// kubelet changes some Pod, as its node or a user would.
func (h *history) kubelet() {
	p := h.anyPod()
	if p == nil {
		return
	}
	p = p.DeepCopy()
	switch h.random.IntN(11) {
	case 0:
		p.Status.Phase, p.Status.Conditions = corev1.PodFailed, h.readiness(corev1.ConditionFalse)
	case 1:
		p.DeletionTimestamp = new(metav1.NewTime(h.clock.Now()))
	case 2:
		if cacheable(p) { // without both labels and with a new operator nobody finds it
			delete(p.Labels, batchv1.LabelPodSet)
			h.moved[p.Name] = true
		}
	case 3:
		p.Labels[batchv1.LabelPodSet] = "web"
	case 4:
		if p.Labels[batchv1.LabelPodSet] != "" && ownedBy(p, h.podSet) {
			delete(p.Labels, workloadv1.LabelManagedBy)
		}
	default:
		h.goOn(p)
		return
	}
	h.setPod(p)
}

// goOn brings a Pod one step further in its life.
func (h *history) goOn(p *corev1.Pod) {
	switch {
	case terminating(p):
		h.removePod(p)
	case finished(p):
	case !ready(p):
		p.Status.Phase, p.Status.Conditions = corev1.PodRunning, h.readiness(corev1.ConditionTrue)
		h.setPod(p)
	}
}

func (h *history) readiness(status corev1.ConditionStatus) []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: status, LastTransitionTime: metav1.NewTime(h.clock.Now())}}
}

func (h *history) anyPod() *corev1.Pod {
	var all []string
	for name := range h.pods {
		if name != "foreign" {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return h.pods[all[h.random.IntN(len(all))]]
}

// calm lets everything work well, and checks that the wanted state is reached and kept.
func (h *history) calm(ctx context.Context) {
	h.faulty = false
	p := h.podSet.DeepCopy()
	p.Generation++
	p.Spec.Paused, p.Spec.UpdateStrategy = false, nil
	h.setPodSet(p)
	for range 200 {
		for _, name := range slices.Sorted(maps.Keys(h.pods)) {
			if name != "foreign" {
				h.goOn(h.pods[name].DeepCopy())
			}
		}
		h.catchUp(ctx)
		h.clock.SetTime(h.clock.Now().Add(10 * time.Second))
	}
	h.checkEnd(ctx)
}

func (h *history) catchUp(ctx context.Context) {
	h.deliver(len(h.podEvents))
	h.tell(len(h.podEvents), h.reconciler)
	h.deliverPodSet(len(h.podSets))
	if _, err := h.reconcile(ctx); err != nil {
		h.breaks("in calm weather: %v", err)
	}
}

func (h *history) checkEnd(ctx context.Context) {
	before := h.writes
	h.catchUp(ctx)
	h.catchUp(ctx)
	if h.writes != before {
		h.breaks("not quiet at the end")
	}
	desired := (&observation{podSet: h.podSet}).desired()
	current, err := revisionOf(&h.podSet.Spec)
	if err != nil {
		h.breaks("revision: %v", err)
	}
	n := 0
	for _, p := range h.pods {
		if !active(p) || !ownedBy(p, h.podSet) {
			continue
		}
		n++
		if !cacheable(p) {
			h.breaks("%s is hidden", p.Name)
		}
		if podRevision(p) != current {
			h.breaks("%s is not up to date", p.Name)
		}
	}
	if n != desired {
		h.breaks("%d Pods at the end, want %d", n, desired)
	}
	if ready := conditionOf(h.podSet, workloadv1.ConditionReady); ready.Status != metav1.ConditionTrue || h.podSet.Status.ObservedGeneration != h.podSet.Generation {
		h.breaks("not ready at the end: %+v", h.podSet.Status)
	}
	if h.pods["foreign"] == nil || h.pods["foreign"].ResourceVersion != "2" {
		h.breaks("the foreign Pod changed")
	}
}
