package controlplane

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const timeout = 30 * time.Second

func newNamespace(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "plane-test-"}}
	created, err := client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.Name
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}, Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "app", Image: "nginx:1.25"}},
			// The namespace controller waits as long before it looks again.
			TerminationGracePeriodSeconds: new(int64(1)),
		},
	}
}

func newDeployment(replicas int32) *appsv1.Deployment {
	pod := newPod("")
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: metav1.SetAsLabelSelector(pod.Labels),
			Template: corev1.PodTemplateSpec{ObjectMeta: pod.ObjectMeta, Spec: pod.Spec},
		},
	}
}

// A Deployment comes up, its Pods are spread over the zones, and it goes with its namespace.
func TestDeploymentLives(t *testing.T) {
	g := NewWithT(t)
	client := newClient(t, Attach(t))
	ns := newNamespace(t, client)

	_, err := client.AppsV1().Deployments(ns).Create(t.Context(), newDeployment(3), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func(g Gomega) {
		deployment, err := client.AppsV1().Deployments(ns).Get(t.Context(), "web", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(deployment.Status.AvailableReplicas).To(BeEquivalentTo(3))
	}).WithTimeout(timeout).Should(Succeed())

	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	perZone := map[string]int{}
	for i := range nodes.Items {
		perZone[nodes.Items[i].Labels[corev1.LabelTopologyZone]]++
	}
	if diff := cmp.Diff(map[string]int{"zone-a": 2, "zone-b": 2, "zone-c": 2}, perZone); diff != "" {
		t.Errorf("nodes per zone (-want +got):\n%s", diff)
	}

	g.Expect(client.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{})).To(Succeed())
	g.Eventually(func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}).WithTimeout(timeout).Should(BeTrue(), "the namespace goes")
}

// describe puts what a Pod shows into one word.
func describe(pod *corev1.Pod) string {
	state := string(pod.Status.Phase)
	if pod.Status.Reason != "" {
		state += " " + pod.Status.Reason
	}
	for _, c := range pod.Status.ContainerStatuses {
		if c.State.Waiting != nil {
			state += " " + c.State.Waiting.Reason
		}
		if c.State.Terminated != nil {
			state += fmt.Sprintf(" exit=%d", c.State.Terminated.ExitCode)
		}
		if c.LastTerminationState.Terminated != nil {
			state += fmt.Sprintf(" last=%d", c.LastTerminationState.Terminated.ExitCode)
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			state += " ready=" + string(c.Status)
		}
	}
	return state
}

func TestPodBehaviours(t *testing.T) {
	tests := map[string]struct {
		reason      string
		annotations map[string]string
		image       string
		want        string
	}{
		"well": {
			reason: "a Pod without annotations is ready",
			want:   "Running ready=True",
		},
		"crash-loop": {
			reason:      "the exit code is the one asked for",
			annotations: map[string]string{AnnotationBehaviour: BehaviourCrashLoop, AnnotationExitCode: "3"},
			want:        "Running CrashLoopBackOff last=3 ready=False",
		},
		"image-pull": {
			reason:      "the image never comes",
			annotations: map[string]string{AnnotationBehaviour: BehaviourImagePull},
			want:        "Pending ImagePullBackOff ready=False",
		},
		"image-of-invalid-registry": {
			reason: "images of *.invalid never come, without an annotation",
			image:  "registry.invalid/app:1",
			want:   "Pending ImagePullBackOff ready=False",
		},
		"fail": {
			reason:      "the Pod is evicted",
			annotations: map[string]string{AnnotationBehaviour: BehaviourFail},
			want:        "Failed Evicted exit=137 ready=False",
		},
		"succeed": {
			reason:      "the containers are done",
			annotations: map[string]string{AnnotationBehaviour: BehaviourSucceed},
			want:        "Succeeded exit=0 ready=False",
		},
		"never-ready": {
			reason:      "probes fail",
			annotations: map[string]string{AnnotationBehaviour: BehaviourNeverReady},
			want:        "Running ready=False",
		},
		"ready-after": {
			reason:      "an hour has not passed yet",
			annotations: map[string]string{AnnotationReadyAfter: "1h"},
			want:        "Pending",
		},
	}
	client := newClient(t, Attach(t))
	ns := newNamespace(t, client)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			pod := newPod(name)
			pod.Annotations = tc.annotations
			if tc.image != "" {
				pod.Spec.Containers[0].Image = tc.image
			}
			_, err := client.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Eventually(podState(t, client, ns, name)).WithTimeout(timeout).Should(Equal(tc.want), tc.reason)
			g.Consistently(podState(t, client, ns, name)).WithTimeout(500*time.Millisecond).Should(Equal(tc.want), tc.reason)
		})
	}
}

func podState(t *testing.T, client kubernetes.Interface, ns, name string) func(Gomega) string {
	return func(g Gomega) string {
		pod, err := client.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		if pod.Spec.NodeName == "" {
			return "unscheduled"
		}
		return describe(pod)
	}
}

// A living Pod falls ill, recovers with its restarts counted, changes its image in place, and takes its time to go.
func TestPodChanges(t *testing.T) {
	g := NewWithT(t)
	client := newClient(t, Attach(t))
	ns := newNamespace(t, client)
	pods := client.CoreV1().Pods(ns)
	patch := func(body string) {
		t.Helper()
		_, err := pods.Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(body), metav1.PatchOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	restarts := func(g Gomega) int32 {
		pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(pod.Status.ContainerStatuses).To(HaveLen(1))
		return pod.Status.ContainerStatuses[0].RestartCount
	}
	_, err := pods.Create(t.Context(), newPod("web"), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(podState(t, client, ns, "web")).WithTimeout(timeout).Should(Equal("Running ready=True"))

	patch(`{"metadata":{"annotations":{"` + AnnotationBehaviour + `":"crash-loop"}}}`)
	g.Eventually(restarts).WithTimeout(timeout).Should(BeNumerically(">=", 2))
	patch(`{"metadata":{"annotations":{"` + AnnotationBehaviour + `":null}}}`)
	g.Eventually(podState(t, client, ns, "web")).WithTimeout(timeout).Should(Equal("Running ready=True"))
	crashed := restarts(g)
	g.Expect(crashed).To(BeNumerically(">=", 2), "restarts survive a recovery")

	patch(`{"spec":{"containers":[{"name":"app","image":"nginx:1.26"}]}}`)
	g.Eventually(func(g Gomega) string {
		pod, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return pod.Status.ContainerStatuses[0].Image + " " + describe(pod)
	}).WithTimeout(timeout).Should(Equal("nginx:1.26 Running ready=True"))
	g.Expect(restarts(g)).To(Equal(crashed + 1))

	patch(`{"metadata":{"annotations":{"` + AnnotationTerminateAfter + `":"2s"}}}`)
	g.Expect(pods.Delete(t.Context(), "web", metav1.DeleteOptions{})).To(Succeed())
	gone := func() bool {
		_, err := pods.Get(t.Context(), "web", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}
	g.Consistently(gone).WithTimeout(time.Second).Should(BeFalse(), "two seconds have not passed yet")
	g.Eventually(gone).WithTimeout(timeout).Should(BeTrue())
}

// The kubeconfig of a service account has the permissions of that account, no more.
func TestKubeconfigForServiceAccount(t *testing.T) {
	g := NewWithT(t)
	p := Attach(t)
	admin := newClient(t, p)
	ns := newNamespace(t, admin)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "reader"}}
	_, err := admin.CoreV1().ServiceAccounts(ns).Create(t.Context(), account, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: ns, Name: "reader"}},
	}
	_, err = admin.RbacV1().RoleBindings(ns).Create(t.Context(), binding, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())

	path, err := p.KubeconfigFor(t.Context(), ns, "reader")
	g.Expect(err).NotTo(HaveOccurred())
	config, err := loadRESTConfig(path)
	g.Expect(err).NotTo(HaveOccurred())
	reader, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(func() error {
		_, err := reader.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		return err
	}).WithTimeout(timeout).Should(Succeed(), "view may list Pods")
	_, err = reader.CoreV1().Pods(ns).Create(t.Context(), newPod("web"), metav1.CreateOptions{})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "view may not create Pods, got: %v", err)

	_, err = p.KubeconfigFor(t.Context(), ns, "nobody")
	g.Expect(err).To(MatchError(ContainSubstring(ns + "/nobody")))
}

// The audit log counts each request once, a watch at its start.
func TestAuditCount(t *testing.T) {
	g := NewWithT(t)
	p := Attach(t)
	g.Expect(p.AuditLog).NotTo(BeEmpty(), "the shared cluster must be a plane, or nothing can be counted")
	config := p.RESTConfig()
	config.UserAgent = "audit-test/1"
	client, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	since, err := p.AuditLog.End()
	g.Expect(err).NotTo(HaveOccurred())

	ns := newNamespace(t, client)
	for range 3 {
		_, err := client.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	watch, err := client.AppsV1().Deployments(ns).Watch(t.Context(), metav1.ListOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	watch.Stop()

	want := map[RequestKind]int{
		{UserAgent: "audit-test/1", Verb: "create", Resource: "namespaces"}:                1,
		{UserAgent: "audit-test/1", Verb: "list", Resource: "configmaps"}:                  3,
		{UserAgent: "audit-test/1", Verb: "watch", Group: "apps", Resource: "deployments"}: 1,
	}
	ours := func(r *Request) bool { return r.UserAgent == "audit-test/1" }
	count := func(g Gomega) map[RequestKind]int {
		counts, err := p.AuditLog.Count(since, ours)
		g.Expect(err).NotTo(HaveOccurred())
		return counts
	}
	g.Eventually(count).WithTimeout(timeout).Should(Equal(want))
	g.Consistently(count).WithTimeout(time.Second).Should(Equal(want), "the end of a watch is no second request")

	end, err := p.AuditLog.End()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(p.AuditLog.Count(end, ours)).To(BeEmpty(), "nothing of ours comes after the end")
}

// Controllers act under their own service accounts.
func TestControllersHaveTheirOwnIdentity(t *testing.T) {
	g := NewWithT(t)
	p := Attach(t)
	g.Expect(p.AuditLog).NotTo(BeEmpty())
	users := map[string]bool{}
	_, err := p.AuditLog.Read(0, func(r *Request) {
		if strings.HasPrefix(r.User, "system:serviceaccount:kube-system:") {
			users[strings.TrimPrefix(r.User, "system:serviceaccount:kube-system:")] = true
		}
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(users).To(HaveKey("service-account-controller"))
	g.Expect(users).To(HaveKey("node-controller"))
}

// A cluster that somebody else runs can stand in for a plane.
func TestExistingCluster(t *testing.T) {
	g := NewWithT(t)
	p := Attach(t)
	other := start(t, Options{Kubeconfig: p.Kubeconfig()})
	g.Expect(checkReachable(t.Context(), rest.CopyConfig(other.config))).To(Succeed())
	g.Expect(other.Kill(Etcd)).To(MatchError(ContainSubstring("no part etcd")))
	g.Expect(other.AuditLog).To(Equal(p.AuditLog))
	stop(t, other)
	g.Expect(checkReachable(t.Context(), p.RESTConfig())).To(Succeed(), "stopping the stand-in leaves the cluster alone")
}
