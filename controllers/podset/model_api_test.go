package podset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

var podResource = schema.GroupResource{Resource: "pods"}

// modelAPI is a small API server with one PodSet, and with caches that show what happened as late as the test likes.
// It breaks the rules that the model test states by an entry in broken.
type modelAPI struct {
	mu      sync.Mutex
	random  *rand.Rand
	now     func() time.Time
	version int
	faulty  bool // answers get lost and requests are refused

	podSet    *batchv1.PodSet
	pods      map[string]*corev1.Pod
	podSets   []*batchv1.PodSet // history; the cache has seen the first setSeen of it
	podEvents []podEvent
	setSeen   int
	podSeen   int // as far is the cache
	podTold   int // as far are the handlers of its events, which hear later
	cached    map[string]*corev1.Pod
	moved     map[string]bool // Pods whose label somebody took off once

	writes int
	broken []string
}

type podEvent struct {
	before, pod *corev1.Pod
	removed     bool
}

// cacheable: the cache holds no other Pods.
func cacheable(p *corev1.Pod) bool {
	return p.Labels[workloadv1.LabelManagedBy] == workloadv1.ManagedBy
}

func newModelAPI(random *rand.Rand, now func() time.Time) *modelAPI {
	return &modelAPI{
		random: random, now: now,
		pods: map[string]*corev1.Pod{}, cached: map[string]*corev1.Pod{}, moved: map[string]bool{},
	}
}

func (m *modelAPI) nextVersion() string {
	m.version++
	return strconv.Itoa(m.version)
}

// setPodSet stores a new version of the PodSet.
func (m *modelAPI) setPodSet(p *batchv1.PodSet) {
	p.ResourceVersion = m.nextVersion()
	m.podSet = p
	m.podSets = append(m.podSets, p.DeepCopy())
}

// setPod stores a new version of a Pod.
func (m *modelAPI) setPod(p *corev1.Pod) {
	before := m.pods[p.Name]
	p.ResourceVersion = m.nextVersion()
	m.pods[p.Name] = p
	was := before != nil && cacheable(before)
	switch {
	case cacheable(p) && was:
		m.podEvents = append(m.podEvents, podEvent{before: before.DeepCopy(), pod: p.DeepCopy()})
	case cacheable(p):
		m.podEvents = append(m.podEvents, podEvent{pod: p.DeepCopy()})
	case was: // a watch with a selector tells that the Pod, as it was, is gone
		m.removed(before)
	}
}

func (m *modelAPI) removed(p *corev1.Pod) {
	gone := p.DeepCopy()
	gone.ResourceVersion = strconv.Itoa(m.version)
	m.podEvents = append(m.podEvents, podEvent{pod: gone, removed: true})
}

func (m *modelAPI) removePod(p *corev1.Pod) {
	delete(m.pods, p.Name)
	m.nextVersion()
	if cacheable(p) {
		m.removed(p)
	}
}

// deliver shows the cache up to n more changes, as a watch does.
func (m *modelAPI) deliver(n int) {
	for ; n > 0 && m.podSeen < len(m.podEvents); n-- {
		event := m.podEvents[m.podSeen]
		m.podSeen++
		if event.removed {
			delete(m.cached, event.pod.Name)
		} else {
			m.cached[event.pod.Name] = event.pod
		}
	}
}

// tell lets the handlers hear about up to n more changes of those that the cache shows.
func (m *modelAPI) tell(n int, r *Reconciler) {
	for ; n > 0 && m.podTold < m.podSeen; n-- {
		event := m.podEvents[m.podTold]
		m.podTold++
		r.progress.saw(event.pod.Namespace, event.pod.ResourceVersion)
		switch {
		case event.removed:
			r.alive.left(event.pod)
		case event.before != nil:
			r.alive.changed(event.before, event.pod)
		default:
			r.alive.saw(event.pod)
		}
	}
}

// deliverPodSet does the same for the watch of PodSets, which is another one and need not keep pace.
func (m *modelAPI) deliverPodSet(n int) { m.setSeen = min(m.setSeen+n, len(m.podSets)) }

// relist shows the cache everything at once, as a new operator sees it.
func (m *modelAPI) relist(r *Reconciler) {
	m.cached = map[string]*corev1.Pod{}
	for name, p := range m.pods {
		if cacheable(p) {
			m.cached[name] = p.DeepCopy()
			r.progress.saw(p.Namespace, p.ResourceVersion)
			r.alive.saw(p)
		}
	}
	m.podSeen, m.podTold, m.setSeen = len(m.podEvents), len(m.podEvents), len(m.podSets)
}

// owned are the active Pods of the PodSet as they are, not as the cache has them.
func (m *modelAPI) owned() (n int) {
	for _, p := range m.pods {
		if active(p) && ownedBy(p, m.podSet) && !m.moved[p.Name] {
			n++
		}
	}
	return n
}

// wanted is the highest number of Pods that the operator may believe in at the moment.
func (m *modelAPI) wanted() (n int) {
	for _, p := range m.podSets[m.setSeen-1:] {
		n = max(n, (&observation{podSet: p}).desired())
	}
	return n
}

func (m *modelAPI) breaks(format string, args ...any) {
	m.broken = append(m.broken, fmt.Sprintf(format, args...))
}

// modelClient is the view that the Reconciler has of modelAPI: from the cache, or live.
type modelClient struct {
	client.Client
	*modelAPI
	live bool
}

func (c *modelClient) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch o := object.(type) {
	case *batchv1.PodSet:
		if c.live {
			c.podSet.DeepCopyInto(o)
			break
		}
		c.podSets[c.setSeen-1].DeepCopyInto(o)
	case *metav1.PartialObjectMetadata:
		if o.Kind != "PodSet" {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
		}
		o.ObjectMeta = *c.podSet.ObjectMeta.DeepCopy()
	case *corev1.Pod:
		p, exists := c.pods[key.Name]
		if !exists {
			return apierrors.NewNotFound(podResource, key.Name)
		}
		p.DeepCopyInto(o)
	}
	return nil
}

func (c *modelClient) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := (&client.ListOptions{}).ApplyOptions(options)
	if found, is := list.(*metav1.PartialObjectMetadataList); is {
		for _, p := range c.pods {
			if o.LabelSelector.Matches(labels.Set(p.Labels)) {
				found.Items = append(found.Items, metav1.PartialObjectMetadata{ObjectMeta: *p.ObjectMeta.DeepCopy()})
			}
		}
		return nil
	}
	pods := list.(*corev1.PodList)
	if c.live {
		for _, p := range c.pods {
			if p.Labels[batchv1.LabelPodSet] == c.podSet.Name {
				pods.Items = append(pods.Items, *p.DeepCopy())
			}
		}
		return nil
	}
	claim, _ := o.FieldSelector.RequiresExactMatch(claimIndex)
	for _, p := range c.cached {
		if claims := claimsOn(p); len(claims) == 1 && claims[0] == claim {
			pods.Items = append(pods.Items, *p)
		}
	}
	return nil
}

func (c *modelClient) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := object.(*corev1.Pod)
	fate := 9
	if c.faulty {
		fate = c.random.IntN(10)
	}
	switch {
	case fate == 0:
		return errors.New("timeout before the request arrived")
	case fate == 1:
		return apierrors.NewForbidden(podResource, p.Name, errors.New("exceeded quota: small"))
	case c.pods[p.Name] != nil:
		return apierrors.NewAlreadyExists(podResource, p.Name)
	}
	c.writes++
	p.UID = types.UID(fmt.Sprintf("uid-%d", c.version+1))
	p.CreationTimestamp = metav1.NewTime(c.now())
	p.Status.Phase = corev1.PodPending
	c.setPod(p.DeepCopy())
	p.ResourceVersion = c.pods[p.Name].ResourceVersion
	if n, limit := c.owned(), c.wanted(); n > limit {
		c.breaks("%d active Pods after a creation, and never more than %d were wanted", n, limit)
	}
	if fate == 2 {
		return errors.New("timeout after the request arrived")
	}
	return nil
}

func (c *modelClient) Delete(_ context.Context, object client.Object, options ...client.DeleteOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := (&client.DeleteOptions{}).ApplyOptions(options)
	p := c.pods[object.GetName()]
	switch {
	case p == nil:
		return apierrors.NewNotFound(podResource, object.GetName())
	case o.Preconditions == nil || o.Preconditions.UID == nil || o.Preconditions.ResourceVersion == nil:
		c.breaks("a Pod is deleted without preconditions")
	case *o.Preconditions.UID != p.UID || *o.Preconditions.ResourceVersion != p.ResourceVersion:
		return apierrors.NewConflict(podResource, p.Name, errors.New("precondition"))
	case !ownedBy(p, c.podSet):
		c.breaks("the foreign Pod %s is deleted", p.Name)
	}
	c.writes++
	p = p.DeepCopy()
	if p.DeletionTimestamp == nil {
		p.DeletionTimestamp = new(metav1.NewTime(c.now()))
	}
	c.setPod(p)
	return nil
}

func (c *modelClient) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, err := patch.Data(object)
	if err != nil {
		return err
	}
	var body struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Labels          map[string]string
			Annotations     map[string]string
			OwnerReferences *[]metav1.OwnerReference
		}
		Spec struct{ Containers []corev1.Container }
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	live := c.pods[object.GetName()]
	switch {
	case live == nil:
		return apierrors.NewNotFound(podResource, object.GetName())
	case body.Metadata.UID != live.UID || body.Metadata.ResourceVersion != live.ResourceVersion:
		return apierrors.NewConflict(podResource, live.Name, errors.New("precondition"))
	}
	if owner := metav1.GetControllerOf(live); owner != nil && owner.UID != c.podSet.UID {
		c.breaks("the foreign Pod %s is patched", live.Name)
	}
	c.writes++
	p := live.DeepCopy()
	maps.Copy(p.Labels, body.Metadata.Labels)
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	maps.Copy(p.Annotations, body.Metadata.Annotations)
	if body.Metadata.OwnerReferences != nil {
		p.OwnerReferences = *body.Metadata.OwnerReferences
	}
	for _, container := range body.Spec.Containers {
		p.Spec.Containers[0].Image = container.Image
	}
	c.setPod(p)
	p.DeepCopyInto(object.(*corev1.Pod))
	return nil
}

func (c *modelClient) Status() client.SubResourceWriter { return modelStatus{modelAPI: c.modelAPI} }

type modelStatus struct {
	client.SubResourceWriter
	*modelAPI
}

func (s modelStatus) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := object.(*batchv1.PodSet)
	if changed.ResourceVersion != s.podSet.ResourceVersion {
		return apierrors.NewConflict(schema.GroupResource{Resource: "podsets"}, changed.Name, errors.New("version"))
	}
	s.writes++
	next := s.podSet.DeepCopy()
	next.Status = *changed.Status.DeepCopy()
	s.setPodSet(next)
	changed.ResourceVersion = next.ResourceVersion
	return nil
}
