package tree

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	"github.com/example/workload-operator/controllers/migration"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// meta is the metadata of an object that another one owns.
func meta(name, owner string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}
	if owner != "" {
		m.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(owner), Kind: "Owner", Name: owner}}
	}
	return m
}

func base() (Subject, *Parts) {
	running := corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	rs := appsv1.ReplicaSet{ObjectMeta: meta("web-1", "web-deploy"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(1))}, Status: appsv1.ReplicaSetStatus{ReadyReplicas: 1}}
	rs.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2"}
	return Subject{
			Kind: "WebApp", Object: &appv1.WebApp{ObjectMeta: meta("web", "shop-chart")},
			Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", Message: "all is well"}},
		}, &Parts{
			Deployments: []appsv1.Deployment{
				{ObjectMeta: meta("web-deploy", "web"), Spec: appsv1.DeploymentSpec{Replicas: new(int32(1))}, Status: appsv1.DeploymentStatus{ReadyReplicas: 1}},
				{ObjectMeta: meta("other", "other")},
			},
			ReplicaSets: []appsv1.ReplicaSet{rs, {ObjectMeta: meta("web-0", "web-deploy"), Spec: appsv1.ReplicaSetSpec{Replicas: new(int32(0))}}},
			Pods:        []corev1.Pod{{ObjectMeta: meta("web-1-a", "web-1"), Spec: corev1.PodSpec{NodeName: "node-1"}, Status: running}, {ObjectMeta: meta("x", "y"), Status: running}},
			Others: []client.Object{
				&corev1.Service{ObjectMeta: meta("web-svc", "web"), Spec: corev1.ServiceSpec{Type: "ClusterIP", ClusterIP: "10.0.0.1"}},
				&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta("web-hpa", "web"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3}, Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 2}},
				&policyv1.PodDisruptionBudget{ObjectMeta: meta("web-pdb", "web"), Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1}},
				&networkingv1.Ingress{ObjectMeta: meta("web-ing", "web"), Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "web.example.com"}}}},
				&corev1.Service{ObjectMeta: meta("strange", "")},
			},
			Events: []corev1.Event{
				{InvolvedObject: corev1.ObjectReference{UID: "web-1-a"}, Type: "Warning", Reason: "BackOff", Message: "again\nand again", LastTimestamp: metav1.NewTime(noon.Add(-time.Minute))},
				{InvolvedObject: corev1.ObjectReference{UID: "web"}, Type: "Normal", Reason: "Created", Message: "made it", EventTime: metav1.NewMicroTime(noon.Add(-time.Hour))},
				{InvolvedObject: corev1.ObjectReference{UID: "x"}, Reason: "Strange"},
			},
		}
}

const drawn = `WebApp shop/web (of Owner shop-chart): ready
|- Deployment web-deploy: 1/1 ready
|  ` + "`" + `- ReplicaSet web-1: revision 2, 1/1 ready
|     ` + "`" + `- Pod web-1-a: Running on node-1
|- Service web-svc: ClusterIP 10.0.0.1
|- HorizontalPodAutoscaler web-hpa: 1 to 3 replicas, wants 2
|- PodDisruptionBudget web-pdb: 1 disruptions allowed
` + "`" + `- Ingress web-ing: web.example.com
Conditions:
  Ready                True    Ready                      all is well
Events:
  60m   Normal WebApp web: Created: made it
  60s   Warning Pod web-1-a: BackOff: again and again
`

func TestWrite(t *testing.T) {
	var out strings.Builder
	if err := Write(&out, grow(base()), noon, func(_ bool, text string) string { return text }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(drawn, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWorst(t *testing.T) {
	condition := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: kind + "Reason", Message: kind + " message"}
	}
	crashing := corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "app", LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
	}}}
	cases := map[string]struct {
		reason string
		mutate func(*Subject, *Parts)
		ready  bool
		want   string
	}{
		"sound":     {"nothing to say", func(*Subject, *Parts) {}, true, ""},
		"deleted":   {"what goes is not ready", func(s *Subject, _ *Parts) { s.Object.SetDeletionTimestamp(&metav1.Time{Time: noon}) }, false, "is being deleted"},
		"stalled":   {"nothing passes by itself", func(s *Subject, _ *Parts) { s.Conditions = append(s.Conditions, condition("Stalled", "True")) }, false, "StalledReason: Stalled message"},
		"unseen":    {"conditions are of another generation", func(s *Subject, _ *Parts) { s.Object.SetGeneration(2) }, false, "the operator has not looked"},
		"not ready": {"the operator says why", func(s *Subject, _ *Parts) { s.Conditions = []metav1.Condition{condition("Ready", "False")} }, false, "ReadyReason: Ready message"},
		"crashing":  {"a Pod says more than the operator", func(_ *Subject, p *Parts) { p.Pods[0].Status = crashing }, true, "CrashLoopBackOff: "},
		"degraded": {"ready, with a blemish", func(s *Subject, _ *Parts) {
			s.Conditions = append(s.Conditions, condition("ConversionDegraded", "True"))
		}, true, "ConversionDegraded message"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, p := base()
			c.mutate(&s, p)
			got := grow(s, p)
			if got.Ready != c.ready || !strings.HasPrefix(got.Worst, c.want) || (c.want == "") != (got.Worst == "") {
				t.Errorf("%s: got ready %t, %q", c.reason, got.Ready, got.Worst)
			}
		})
	}
}

// TestRefused: an object says that a migration left it behind; one made anew by the same name was not there.
func TestRefused(t *testing.T) {
	record := &migration.Record{Target: "v1", Updated: noon, Refusals: []migration.Problem{{Namespace: "shop", Name: "web", UID: "web", Reason: "frozen by a policy"}}}
	s, p := base()
	if got := refused(s.Object, nil); got != "" {
		t.Errorf("without a record: %s", got)
	}
	const want = "was refused by the migration to v1 at 2026-11-30T12:00:00Z: frozen by a policy"
	if got := refused(s.Object, record); got != want {
		t.Errorf("got %s", got)
	}
	tree := grow(s, p)
	tree.Refused = want
	var out strings.Builder
	if err := Write(&out, tree, noon, func(_ bool, text string) string { return text }); err != nil || !strings.Contains(out.String(), "\n  "+want+"\n|- ") {
		t.Errorf("%v: got %s", err, out.String())
	}
	s.Object.SetUID("anew")
	if got := refused(s.Object, record); got != "" {
		t.Errorf("another object: %s", got)
	}
}
