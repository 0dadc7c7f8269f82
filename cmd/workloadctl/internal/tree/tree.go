package tree

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/controllers/podhealth"
)

// latestEvents bounds the events of a tree.
const latestEvents = 8

// Node is an object in the tree.
type Node struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// State is a few words, such as 2/3 ready.
	State    string  `json:"state,omitempty"`
	Ready    bool    `json:"ready"`
	Children []*Node `json:"children,omitempty"`
}

// Event is something that happened to an object of the tree.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Object  string    `json:"object"`
	Message string    `json:"message"`
}

// Tree is one WebApp or PodSet.
type Tree struct {
	Namespace string `json:"namespace"`
	Root      *Node  `json:"root"`
	// Owners own the object itself.
	Owners []string `json:"owners,omitempty"`
	// Ready says that the object has what it asks for, of its present generation.
	Ready bool `json:"ready"`
	// Worst is why it is not, or what is wrong nevertheless. Empty if nothing is.
	Worst string `json:"worst,omitempty"`
	// Refused is why the latest migration of the kind left the object behind. Empty if it did not.
	Refused    string             `json:"refusedByMigration,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Events     []Event            `json:"events,omitempty"`
}

// Parts are what a namespace has.
type Parts struct {
	Deployments []appsv1.Deployment
	ReplicaSets []appsv1.ReplicaSet
	Pods        []corev1.Pod
	// Others are Services, HorizontalPodAutoscalers, PodDisruptionBudgets and Ingresses.
	Others []client.Object
	Events []corev1.Event
}

// Subject is the object that a tree is about.
type Subject struct {
	Kind       string
	Object     client.Object
	Observed   int64 // status.observedGeneration
	Conditions []metav1.Condition
}

// grow makes the tree of a subject. Who belongs to whom is decided by UID.
func grow(s Subject, p *Parts) *Tree {
	t := &Tree{Namespace: s.Object.GetNamespace(), Root: &Node{Kind: s.Kind, Name: s.Object.GetName()}, Conditions: s.Conditions}
	for _, owner := range s.Object.GetOwnerReferences() {
		t.Owners = append(t.Owners, owner.Kind+" "+owner.Name)
	}
	uids := map[types.UID]string{s.Object.GetUID(): s.Kind + " " + s.Object.GetName()}
	var pods []*corev1.Pod
	add := func(parent *Node, kind string, object client.Object, state string, ready bool) *Node {
		node := &Node{Kind: kind, Name: object.GetName(), State: state, Ready: ready}
		parent.Children = append(parent.Children, node)
		uids[object.GetUID()] = kind + " " + object.GetName()
		return node
	}
	addPods := func(parent *Node, owner types.UID) {
		for i := range p.Pods {
			if pod := &p.Pods[i]; ownedBy(pod, owner) {
				state, ready := podState(pod)
				add(parent, "Pod", pod, state, ready)
				pods = append(pods, pod)
			}
		}
	}
	for i := range p.Deployments {
		d := &p.Deployments[i]
		if !ownedBy(d, s.Object.GetUID()) {
			continue
		}
		node := add(t.Root, "Deployment", d, readyOf(d.Status.ReadyReplicas, d.Spec.Replicas), d.Status.ReadyReplicas >= deref(d.Spec.Replicas))
		for j := range p.ReplicaSets {
			rs := &p.ReplicaSets[j]
			if !ownedBy(rs, d.UID) || deref(rs.Spec.Replicas) == 0 && rs.Status.Replicas == 0 {
				continue
			}
			revision := "revision " + rs.Annotations["deployment.kubernetes.io/revision"] + ", "
			addPods(add(node, "ReplicaSet", rs, revision+readyOf(rs.Status.ReadyReplicas, rs.Spec.Replicas), rs.Status.ReadyReplicas >= deref(rs.Spec.Replicas)), rs.UID)
		}
	}
	addPods(t.Root, s.Object.GetUID())
	for _, other := range p.Others {
		if ownedBy(other, s.Object.GetUID()) {
			kind, state := describe(other)
			add(t.Root, kind, other, state, true)
		}
	}
	t.judge(s, pods)
	t.Events = eventsOf(uids, p.Events)
	return t
}

// judge decides on Ready and Worst: what the operator says first, then what Pods show.
func (t *Tree) judge(s Subject, pods []*corev1.Pod) {
	condition := func(kind string) *metav1.Condition {
		for i := range s.Conditions {
			if s.Conditions[i].Type == kind {
				return &s.Conditions[i]
			}
		}
		return nil
	}
	is := func(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }
	ready, stalled := condition(workloadv1.ConditionReady), condition(workloadv1.ConditionStalled)
	problem, unhealthy := podhealth.Worst(pods)
	current := s.Observed == s.Object.GetGeneration()
	t.Ready = current && is(ready) && !is(stalled)
	switch {
	case s.Object.GetDeletionTimestamp() != nil:
		t.Ready, t.Worst = false, "is being deleted"
	case is(stalled):
		t.Worst = stalled.Reason + ": " + stalled.Message
	case !current:
		t.Worst = "the operator has not looked at it yet, since it was last changed"
	case unhealthy:
		t.Worst = problem.Reason + ": " + problem.Message
	case !t.Ready && ready != nil:
		t.Worst = ready.Reason + ": " + ready.Message
	case is(condition(workloadv1.ConditionConversionDegraded)):
		t.Worst = condition(workloadv1.ConditionConversionDegraded).Message
	}
	t.Root.Ready, t.Root.State = t.Ready, "not ready"
	if t.Ready {
		t.Root.State = "ready"
	}
}

func ownedBy(object client.Object, owner types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner })
}

func deref(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}

func readyOf(ready int32, wanted *int32) string {
	return fmt.Sprintf("%d/%d ready", ready, deref(wanted))
}

// podState is the phase of a Pod, or what is wrong with it.
func podState(pod *corev1.Pod) (state string, ready bool) {
	state = string(pod.Status.Phase)
	for _, condition := range pod.Status.Conditions {
		ready = ready || condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
	}
	if pod.DeletionTimestamp != nil {
		return "Terminating", false
	}
	if problem, found := podhealth.Worst([]*corev1.Pod{pod}); found && !ready {
		state = problem.Reason
	}
	if pod.Spec.NodeName != "" {
		state += " on " + pod.Spec.NodeName
	}
	return state, ready
}

func describe(object client.Object) (kind, state string) {
	switch o := object.(type) {
	case *corev1.Service:
		return "Service", strings.TrimSuffix(string(o.Spec.Type)+" "+o.Spec.ClusterIP, " ")
	case *autoscalingv2.HorizontalPodAutoscaler:
		return "HorizontalPodAutoscaler", fmt.Sprintf("%d to %d replicas, wants %d", deref(o.Spec.MinReplicas), o.Spec.MaxReplicas, o.Status.DesiredReplicas)
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget", fmt.Sprintf("%d disruptions allowed", o.Status.DisruptionsAllowed)
	case *networkingv1.Ingress:
		var hosts []string
		for _, rule := range o.Spec.Rules {
			hosts = append(hosts, rule.Host)
		}
		return "Ingress", strings.Join(hosts, ", ")
	}
	return object.GetObjectKind().GroupVersionKind().Kind, ""
}

// eventsOf are the latest events of the objects, the newest last.
func eventsOf(objects map[types.UID]string, all []corev1.Event) []Event {
	var events []Event
	for _, e := range all {
		if name, ours := objects[e.InvolvedObject.UID]; ours {
			events = append(events, Event{Time: timeOf(e), Type: e.Type, Reason: e.Reason, Object: name, Message: strings.Join(strings.Fields(e.Message), " ")})
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Object, b.Object)) })
	return events[max(0, len(events)-latestEvents):]
}

func timeOf(e corev1.Event) time.Time {
	latest := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.EventTime.Time, e.LastTimestamp.Time} {
		if t.After(latest) {
			latest = t
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(latest) {
		latest = e.Series.LastObservedTime.Time
	}
	return latest
}
