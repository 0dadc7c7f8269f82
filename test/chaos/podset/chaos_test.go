package podset

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// calmsWithin is how long everything may take to become right after the storm.
const calmsWithin = 2 * time.Minute

// TestStorm plays histories side by side, each in a namespace of its own with an operator of its own.
//
// The seed decides what is done and what the storm hits. The order in which processes get to run is not decided by it, so that
// a seed repeats a history closely, but not to the letter.
func TestStorm(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	p := plane(t)
	for i := range *widthFlag {
		t.Run(fmt.Sprintf("history=%d", i), func(t *testing.T) {
			t.Parallel()
			play(t, p, seed+uint64(i))
		})
	}
}

// history is one run of the model on a real API server.
type history struct {
	t         *testing.T
	ctx       context.Context
	plane     *controlplane.Plane
	client    client.WithWatch
	namespace string
	seed      uint64
	random    *rand.Rand
	operator  *life
	model     *model
	steps     int
	lives     int
	renewals  map[metav1.DeletionPropagation]int
	hits      map[string]int // of the storm

	acknowledged batchv1.PodSetSpec // the last that the API server took
	marks        map[string]string  // on Pods, by keyOf
}

func play(t *testing.T, p *controlplane.Plane, seed uint64) {
	h := &history{
		t: t, ctx: t.Context(), plane: p, seed: seed, model: newModel(), random: rand.New(rand.NewPCG(seed, 0)),
		marks: map[string]string{}, renewals: map[metav1.DeletionPropagation]int{}, hits: map[string]int{},
	}
	h.must("preparing", h.prepare())
	defer func() {
		h.must("stopping the operator", h.operator.kill())
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}}
		h.must("removing the namespace", h.client.Delete(context.WithoutCancel(h.ctx), namespace))
	}()
	version, err := h.version()
	h.must("reading the present version", err)
	witness := watchAll(h.ctx, h.client, h.namespace, version)
	h.must("creating foreign Pods", h.addForeign())
	h.must("creating the PodSet", h.createSet())
	h.rage()
	h.must("after the storm", h.calmDown())
	for _, c := range witness.account() {
		h.model.check(c)
	}
	t.Logf("%d steps, %d operators, renewals %v, Pods %v, requests %v", h.steps, h.lives, h.renewals, h.model.tally, h.hits)
	if len(h.model.broken) > 0 {
		t.Errorf("repeat with -histories=1 -seed=%d:\n%s", seed, strings.Join(h.model.broken, "\n"))
	} else {
		t.Logf("seed %d", seed)
	}
	if h.model.tally["created"] == 0 {
		t.Error("the witness saw no creation")
	}
}

func (h *history) prepare() error {
	var err error
	if h.client, err = client.NewWithWatch(h.plane.RESTConfig(), client.Options{Scheme: testScheme()}); err != nil {
		return err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "storm-"}}
	if err := h.client.Create(h.ctx, namespace); err != nil {
		return err
	}
	h.namespace = namespace.Name
	err = h.eventually("Pods can be created", func() (bool, error) {
		err := h.client.Get(h.ctx, client.ObjectKey{Namespace: h.namespace, Name: "default"}, &corev1.ServiceAccount{})
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return err
	}
	h.acknowledged.Image, h.acknowledged.Replicas = "nginx:0", new(int32(3))
	h.acknowledged.PodAnnotations = map[string]string{controlplane.AnnotationTerminateAfter: "700ms"}
	h.acknowledged.PodReplacementPolicy = h.somePolicy()
	h.begin()
	return nil
}

func (h *history) begin() {
	h.lives++
	random := rand.New(rand.NewPCG(h.random.Uint64(), 0))
	h.operator = begin(h.t, h.plane.RESTConfig(), h.client.Scheme(), h.client.RESTMapper(), h.namespace, newStorm(random, h.hits))
}

func (h *history) restart() error {
	err := h.operator.kill()
	h.begin()
	return err
}

// version is a version of the API server from which everything that follows can be watched.
func (h *history) version() (string, error) {
	list := &corev1.PodList{}
	err := h.client.List(h.ctx, list, client.InNamespace(h.namespace))
	return list.ResourceVersion, err
}

// rage is the storm.
func (h *history) rage() {
	h.t.Helper()
	ends := time.After(*stormFlag)
	for {
		select {
		case <-ends:
			return
		case <-time.After(time.Duration(h.random.IntN(int(300 * time.Millisecond)))):
		}
		h.steps++
		h.must("acting", lostRace(h.act()))
	}
}

// calmDown ends the storm, asks for one last state, and waits until it is there: exactly, and then without another request.
func (h *history) calmDown() error {
	h.operator.storm.calmDown()
	if err := h.releaseAll(); err != nil {
		return err
	}
	err := h.eventually("the last state is asked for", func() (bool, error) {
		err := h.updateSet(func(spec *batchv1.PodSetSpec) {
			// Another image begins another row of failures.
			spec.Image, spec.Paused, spec.Suspend, spec.UpdateStrategy = "nginx:last", false, false, nil
		})
		return err == nil, lostRace(err)
	})
	if err != nil {
		return err
	}
	var amiss []string
	err = h.eventually("everything is as it should be", func() (bool, error) {
		var err error
		amiss, err = h.amiss()
		return len(amiss) == 0, err
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(amiss, "; "))
	}
	return h.quiet()
}

// amiss says what is not yet as it should be.
func (h *history) amiss() (amiss []string, err error) {
	set, err := h.readSet()
	if err != nil {
		return nil, err
	}
	list := &corev1.PodList{}
	if err := h.client.List(h.ctx, list, client.InNamespace(h.namespace)); err != nil {
		return nil, err
	}
	say := func(is bool, format string, args ...any) {
		if is {
			amiss = append(amiss, fmt.Sprintf(format, args...))
		}
	}
	var names []string
	for _, pod := range list.Items {
		facts := &podFacts{Pod: &pod}
		want, marked := h.marks[keyOf(&pod)]
		say(marked && pod.Annotations[mark] != want, "the mark of %s is lost", pod.Name)
		switch owner := ownerOf(&pod); {
		case h.model.foreign[pod.Name]:
		case owner == "":
			// Without the other label nobody is to be bothered with it.
			say(labelOf(&pod) != "" && managed(&pod) && facts.active(), "%s is not adopted", pod.Name)
		case owner != set.UID:
			say(true, "%s is left of a former PodSet", pod.Name)
		case facts.terminating():
			say(true, "%s is still going", pod.Name)
		case facts.active():
			names = append(names, pod.Name)
			say(pod.Labels[batchv1.LabelRevision] != set.Status.CurrentRevision || pod.Spec.Containers[0].Image != set.Spec.Image, "%s is not up to date", pod.Name)
			say(!managed(&pod) || labelOf(&pod) != setName, "%s lacks a label", pod.Name)
		}
	}
	ready := meta.FindStatusCondition(set.Status.Conditions, workloadv1.ConditionReady)
	say(ready == nil || ready.Status != metav1.ConditionTrue || set.Status.ObservedGeneration != set.Generation, "not ready: %+v", ready)
	say(len(names) != int(*set.Spec.Replicas) || !slices.Equal(names, set.Status.PodNames), "Pods %v, wanted %d, reported %v", names, *set.Spec.Replicas, set.Status.PodNames)
	say(!equality.Semantic.DeepEqual(set.Spec, h.acknowledged), "the spec is not the one that was acknowledged")
	return amiss, nil
}

func managed(pod *corev1.Pod) bool {
	return pod.Labels[workloadv1.LabelManagedBy] == workloadv1.ManagedBy
}

func (h *history) quiet() error {
	before := -1
	return h.eventually("no more requests", func() (bool, error) {
		last := before
		before = h.operator.storm.requests()
		return last == before, nil
	})
}

func (h *history) eventually(what string, is func() (bool, error)) error {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	timeout := time.After(calmsWithin)
	for {
		if done, err := is(); done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-timeout:
			return errors.New("waited " + calmsWithin.String() + " until " + what)
		}
	}
}

func (h *history) must(what string, err error) {
	h.t.Helper()
	if err != nil {
		h.t.Errorf("%s (-histories=1 -seed=%d): %v", what, h.seed, err)
		h.t.FailNow()
	}
}
