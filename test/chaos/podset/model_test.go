package podset

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
)

const (
	// A pass asks whether the PodSet is still wanted before it creates or adopts, and may then take so long.
	longestPass = 10 * time.Second

	// What somebody else took away so shortly ago may still be missing in the eyes of the operator.
	latestNews = 10 * time.Second
)

// model is what must be true of a namespace, whatever the weather: see check.
type model struct {
	sets    map[types.UID]*setFacts
	pods    map[string]*podFacts // by name
	foreign map[string]bool      // names of Pods that are none of our business
	byUser  map[string]bool      // Pods that the user deleted, by keyOf
	broken  []string
	lost    []loss
	tally   map[string]int
}

// loss is a Pod that a PodSet lost, and not by its operator.
type loss struct {
	owner types.UID
	at    time.Time
}

// setFacts is what is known about one PodSet.
type setFacts struct {
	name     string
	wanted   map[int64]want // by generation
	latest   int64
	observed int64 // the operator has seen this generation, because it said so
	revision string
	deleted  time.Time
}

type want struct {
	replicas   int
	onlyFailed bool // podReplacementPolicy: Failed
}

type podFacts struct {
	*corev1.Pod
	moved bool // was without its label, or had another owner, at some time; the operator may have been right to replace it
}

func newModel() *model {
	return &model{
		sets: map[types.UID]*setFacts{}, pods: map[string]*podFacts{}, foreign: map[string]bool{},
		byUser: map[string]bool{}, tally: map[string]int{},
	}
}

func (m *model) breaks(c change, format string, args ...any) {
	m.broken = append(m.broken, fmt.Sprintf("version %d: ", c.version)+fmt.Sprintf(format, args...))
}

// check holds one change against the rules:
//   - a creation never leads to more active Pods than the PodSet wanted at some time since the operator last said what it saw;
//   - under podReplacementPolicy Failed, Pods that are still being deleted count, too;
//   - nothing is created for or adopted by a PodSet that is deleted;
//   - only orphans with the label are adopted, and only Pods without it are released;
//   - the operator deletes nothing but its own Pods, and of those only what is surplus, finished or outdated;
//   - Pods of somebody else stay as they are.
func (m *model) check(c change) {
	if c.podSet != nil {
		m.checkSet(c)
		return
	}
	before := m.pods[c.pod.Name]
	if before != nil && before.UID != c.pod.UID {
		m.breaks(c, "Pod %s has another UID and nobody saw the old one go", c.pod.Name)
		before = nil
	}
	if before == nil {
		m.pods[c.pod.Name] = &podFacts{Pod: c.pod}
		m.checkCreation(c)
		return
	}
	now := &podFacts{Pod: c.pod, moved: before.moved || labelOf(before.Pod) != labelOf(c.pod) || ownerOf(before.Pod) != ownerOf(c.pod)}
	m.checkOwner(c, before)
	if !before.terminating() && (now.terminating() || c.gone) {
		m.checkDeletion(c, before)
	} else if before.active() && !now.active() || labelOf(before.Pod) != labelOf(c.pod) {
		m.lost = append(m.lost, loss{ownerOf(before.Pod), c.at})
	}
	m.pods[c.pod.Name] = now
	if c.gone {
		delete(m.pods, c.pod.Name)
	}
}

func (m *model) checkSet(c change) {
	set := m.sets[c.podSet.UID]
	if set == nil {
		set = &setFacts{name: c.podSet.Name, wanted: map[int64]want{}}
		m.sets[c.podSet.UID] = set
	}
	w := want{replicas: int(*c.podSet.Spec.Replicas), onlyFailed: c.podSet.Spec.PodReplacementPolicy == batchv1.ReplaceFailed}
	if c.podSet.Spec.Suspend {
		w.replicas = 0
	}
	set.latest = c.podSet.Generation
	set.wanted[set.latest] = w
	set.observed, set.revision = c.podSet.Status.ObservedGeneration, c.podSet.Status.CurrentRevision
	if set.deleted.IsZero() && (c.gone || c.podSet.DeletionTimestamp != nil) {
		set.deleted = c.at
	}
}

// inView is the most that the operator may believe to be wanted, and whether it knows for sure that only failed Pods are replaced.
func (s *setFacts) inView() (most int, onlyFailed bool) {
	onlyFailed = true
	for generation, w := range s.wanted {
		if generation >= s.observed {
			most = max(most, w.replicas)
			onlyFailed = onlyFailed && w.onlyFailed
		}
	}
	return most, onlyFailed
}

func (m *model) checkCreation(c change) {
	owner := ownerOf(c.pod)
	set := m.sets[owner]
	if set == nil {
		return // the user's
	}
	m.tally["created"]++
	if !set.deleted.IsZero() && c.at.Sub(set.deleted) > longestPass {
		m.breaks(c, "Pod %s is created %s after its PodSet was deleted", c.pod.Name, c.at.Sub(set.deleted))
	}
	most, onlyFailed := set.inView()
	active, going := 0, 0
	for _, p := range m.pods {
		switch {
		case ownerOf(p.Pod) != owner || p.moved:
		case p.active():
			active++
		case p.terminating() && !p.finished():
			going++
		}
	}
	if active > most {
		m.breaks(c, "%d active Pods of %s after the creation of %s, and never more than %d were wanted", active, set.name, c.pod.Name, most)
	}
	if onlyFailed && active+going > most {
		m.breaks(c, "%d Pods of %s, %d of them going, after the creation of %s, and only failed ones are to be replaced: %d", active+going, set.name, going, c.pod.Name, most)
	}
}

func (m *model) checkOwner(c change, before *podFacts) {
	from, to := ownerOf(before.Pod), ownerOf(c.pod)
	if m.foreign[c.pod.Name] && (from != to || labelOf(before.Pod) != labelOf(c.pod)) {
		m.breaks(c, "the foreign Pod %s is changed", c.pod.Name)
	}
	if from == to {
		return
	}
	switch set := m.sets[to]; {
	case from == "" && set != nil:
		m.tally["adopted"]++
		if labelOf(before.Pod) != set.name || before.terminating() {
			m.breaks(c, "Pod %s is adopted although it is no living orphan of %s", c.pod.Name, set.name)
		}
		if !set.deleted.IsZero() && c.at.Sub(set.deleted) > longestPass {
			m.breaks(c, "Pod %s is adopted by a PodSet that is deleted", c.pod.Name)
		}
	case to == "" && m.sets[from] != nil:
		m.tally["released"]++
		if labelOf(before.Pod) == m.sets[from].name && m.sets[from].deleted.IsZero() {
			m.breaks(c, "Pod %s is released although it has the label", c.pod.Name)
		}
	default:
		m.breaks(c, "Pod %s changes its owner from %q to %q", c.pod.Name, from, to)
	}
}

// checkDeletion: the Pod begins to go, and before is how it was until now.
func (m *model) checkDeletion(c change, before *podFacts) {
	owner := ownerOf(before.Pod)
	set := m.sets[owner]
	switch {
	case m.foreign[c.pod.Name]:
		m.breaks(c, "the foreign Pod %s is deleted", c.pod.Name)
		return
	case m.byUser[keyOf(c.pod)], set != nil && !set.deleted.IsZero():
		m.lost = append(m.lost, loss{owner, c.at}) // by the user, or by garbage collection
		return
	case set == nil || labelOf(before.Pod) != set.name:
		m.breaks(c, "Pod %s, which no PodSet owns and selects, is deleted", c.pod.Name)
		return
	}
	m.tally["deleted"]++
	if before.finished() || before.Labels[batchv1.LabelRevision] != set.revision || set.observed != set.latest {
		return // it may be outdated, or about to be
	}
	left, least := 0, set.wanted[set.latest].replicas
	for _, p := range m.pods {
		if p.UID != c.pod.UID && ownerOf(p.Pod) == owner && p.active() && labelOf(p.Pod) == set.name {
			left++
		}
	}
	for _, l := range m.lost {
		if l.owner == owner && c.at.Sub(l.at) < latestNews {
			left++
		}
	}
	if left < least {
		m.breaks(c, "Pod %s of %s is deleted, which leaves %d, and at least %d were wanted", c.pod.Name, set.name, left, least)
	}
}

func (p *podFacts) terminating() bool { return p.DeletionTimestamp != nil }

func (p *podFacts) finished() bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

func (p *podFacts) active() bool { return !p.terminating() && !p.finished() }

func labelOf(pod *corev1.Pod) string { return pod.Labels[batchv1.LabelPodSet] }

func ownerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}
