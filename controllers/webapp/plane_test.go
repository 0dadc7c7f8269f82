package webapp

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/test/controlplane"
)

// TestSample is W-01: what the sample becomes, and what that costs.
func TestSample(t *testing.T) {
	p := newPlace(t)
	start := p.now()
	p.create(sample())
	p.runs()

	w := p.webApp()
	d, s := fetch[appsv1.Deployment](p, "my-app-deploy"), fetch[corev1.Service](p, "my-app-svc")
	for _, child := range []client.Object{d, s} {
		p.Expect(metav1.IsControlledBy(child, w)).To(BeTrue())
		p.Expect(child.GetLabels()).To(Equal(labelsOf(w)))
	}
	p.Expect(*d.Spec.Replicas).To(Equal(int32(3)))
	p.Expect(d.Spec.Template.Spec.Containers).To(HaveLen(1))
	p.Expect(d.Spec.Template.Spec.Containers[0].Name).To(Equal(workloadv1.ContainerName))
	p.Expect(s.Spec.Ports).To(HaveLen(1))
	p.Expect(s.Spec.Ports[0].Port).To(Equal(int32(80)))
	p.Expect(s.Spec.Ports[0].TargetPort).To(Equal(intstr.FromInt32(80)))
	p.Expect(p.budgets()).To(BeEmpty())
	p.Expect(w.Status.URL).To(Equal("http://my-app-svc." + p.namespace + ".svc"))
	p.Expect(w.Status.Selector).To(Equal("app.example.com/webapp=my-app"))
	p.expectCost(start, "patch deployments my-app-deploy 201", "patch services my-app-svc 201")
	p.Eventually(p.events).Should(Equal([]string{"Normal Running"}))
}

// expectCost checks what the reconciler sent since start: these writes to children, and the status when it takes the
// change up and when it is done. A machine so slow that the rollout takes longer than countInterval sees the counts
// between.
func (p *place) expectCost(start int64, children ...string) {
	p.t.Helper()
	const status = "patch webapps/status my-app 200"
	var sent []string
	reports := 0
	first, last := p.period(start)
	for _, r := range p.requests(start) {
		if r == status {
			reports++
		} else {
			sent = append(sent, r)
		}
	}
	p.Expect(sent).To(Equal(children))
	p.Expect(reports).To(And(BeNumerically(">=", 1), BeNumerically("<=", 2+int(last.Sub(first)/countInterval))))
}

// period is when the reconciler sent its first and its last request since start.
func (p *place) period(start int64) (first, last time.Time) {
	p.t.Helper()
	_, err := p.plane.AuditLog.Read(start, func(r *controlplane.Request) {
		if !p.sent(r) {
			return
		}
		if first.IsZero() {
			first = r.Time
		}
		last = r.Time
	})
	p.Expect(err).NotTo(HaveOccurred())
	return first, last
}

func (p *place) budgets() []policyv1.PodDisruptionBudget {
	p.t.Helper()
	var list policyv1.PodDisruptionBudgetList
	p.Expect(p.client.List(p.ctx, &list, client.InNamespace(p.namespace))).To(Succeed())
	return list.Items
}

// TestQuiet is W-02, with every child and a spec that the API server normalises and fills with defaults.
func TestQuiet(t *testing.T) {
	p := newPlace(t)
	p.create(sample(everything))
	p.runs()
	p.settles()

	before := p.versions()
	start := p.now()
	for i := range 100 {
		p.annotate("example.com/touch", fmt.Sprint(i))
	}
	p.Consistently(func() []string { return p.requests(start) }, 3*time.Second, 500*time.Millisecond).Should(BeEmpty())
	p.Expect(p.versions()).To(Equal(before))
}

// everything uses every field, in spellings that the API server does not keep.
func everything(w *appv1.WebApp) {
	raw := `{
		"replicas": 2, "port": 8080, "targetPort": 9000, "minReadySeconds": 1, "revisionHistoryLimit": 0,
		"imagePullPolicy": "Always", "imagePullSecrets": [{"name": "pull"}],
		"command": ["serve"], "args": ["<&>", ""],
		"env": [{"name": "EMPTY"}, {"name": "BLANK", "value": ""}, {"name": "B", "value": "1"},
			{"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
			{"name": "CPU", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}],
		"envFrom": [{"configMapRef": {"name": "c", "optional": true}}],
		"resources": {"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": {"cpu": "2.0", "memory": "2Gi"}},
		"probes": {"readiness": {"httpGet": {"path": "/ready", "port": 9000, "httpHeaders": [{"name": "A", "value": "b"}]}},
			"liveness": {"tcpSocket": {"port": "http"}, "periodSeconds": 5}, "startup": {"exec": {"command": ["true"]}}},
		"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1024Mi"}}, {"name": "none", "emptyDir": {}},
			{"name": "c", "configMap": {"name": "c", "optional": true, "items": [{"key": "a", "path": "b"}]}},
			{"name": "s", "secret": {"secretName": "s", "optional": true}}],
		"volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}, {"name": "c", "mountPath": "/c", "readOnly": true}],
		"serviceAccountName": "default", "automountServiceAccountToken": true,
		"podSecurityContext": {"runAsNonRoot": true, "fsGroup": 0, "sysctls": []},
		"securityContext": {"capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": false},
		"podLabels": {"team": "a"}, "podAnnotations": {"note": ""},
		"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"key": "k", "operator": "Exists"}],
		"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1,
			"podAffinityTerm": {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
		"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway"}],
		"terminationGracePeriodSeconds": 0,
		"strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
		"autoscaling": {"maxReplicas": 4, "targetMemoryUtilizationPercentage": 70},
		"disruptionBudget": {"maxUnavailable": "50%"},
		"service": {"type": "LoadBalancer", "annotations": {"a": ""}},
		"ingress": {"host": "shop.example.com", "tlsSecretName": "tls", "annotations": {"b": "c"}}
	}`
	if err := json.Unmarshal([]byte(raw), &w.Spec); err != nil {
		panic(err)
	}
}

// settles waits until the reconciler has sent nothing for two seconds.
func (p *place) settles() {
	p.t.Helper()
	offset, last := int64(0), time.Now()
	p.Eventually(func() (time.Duration, error) {
		var err error
		offset, err = p.plane.AuditLog.Read(offset, func(r *controlplane.Request) {
			if p.sent(r) && r.Time.After(last) {
				last = r.Time
			}
		})
		return time.Since(last), err
	}, 30*time.Second, 250*time.Millisecond).Should(BeNumerically(">", 2*time.Second))
}

// annotate sets an annotation of the WebApp, which makes the reconciler look at it.
func (p *place) annotate(key, value string) {
	p.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	p.patch(&appv1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: "my-app"}}, patch)
}

// patch sends a JSON merge patch as a user.
func (p *place) patch(object client.Object, patch string) {
	p.t.Helper()
	object.SetNamespace(p.namespace)
	p.Expect(p.client.Patch(p.ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("a-user"))).To(Succeed())
}

// versions are the resourceVersions of the children, and the time in the status of the WebApp.
func (p *place) versions() map[string]string {
	p.t.Helper()
	return map[string]string{
		"status":     p.webApp().Status.LastUpdateTime.String(),
		"deployment": fetch[appsv1.Deployment](p, "my-app-deploy").ResourceVersion,
		"service":    fetch[corev1.Service](p, "my-app-svc").ResourceVersion,
		"autoscaler": fmt.Sprint(fetch[autoscalingv2.HorizontalPodAutoscaler](p, "my-app-hpa").UID),
		"budget":     fmt.Sprint(fetch[policyv1.PodDisruptionBudget](p, "my-app-pdb").Generation),
		"ingress":    fetch[networkingv1.Ingress](p, "my-app-ing").ResourceVersion,
	}
}

// TestDrift is W-03.
func TestDrift(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	p.settles()
	deployment := func() *appsv1.Deployment { return fetch[appsv1.Deployment](p, "my-app-deploy") }
	name := metav1.ObjectMeta{Name: "my-app-deploy"}

	for what, patch := range map[string]string{
		"label of the cache":   `{"metadata":{"labels":{"app.kubernetes.io/managed-by":null}}}`,
		"label":                `{"metadata":{"labels":{"app.example.com/webapp":"other"}}}`,
		"zero value":           `{"spec":{"minReadySeconds":3}}`,
		"paused by kubectl":    `{"spec":{"paused":true}}`,
		"replicas by somebody": `{"spec":{"replicas":5}}`,
		"owner":                `{"metadata":{"ownerReferences":[{"apiVersion":"app.example.com/v1","kind":"WebApp","name":"my-app","uid":"` + string(p.webApp().UID) + `","controller":true,"blockOwnerDeletion":false}]}}`,
	} {
		want := deployment()
		start := p.now()
		p.patch(&appsv1.Deployment{ObjectMeta: name}, patch)
		p.Eventually(func(g Gomega) {
			got := deployment()
			g.Expect(got.Spec).To(Equal(want.Spec), what)
			g.Expect(got.Labels).To(Equal(want.Labels), what)
			g.Expect(got.OwnerReferences).To(Equal(want.OwnerReferences), what)
		}).Should(Succeed())
		p.settles()
		p.Expect(writes(p.requests(start), "deployments")).To(HaveLen(1), what)
		p.expectPrompt(start, what)
	}

	start := p.now()
	p.Expect(p.client.Patch(p.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name.Name, Namespace: p.namespace}},
		client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"evil:1"}]}}}}`)))).To(Succeed())
	p.Eventually(func() string { return deployment().Spec.Template.Spec.Containers[0].Image }).Should(Equal("nginx:1.25"))
	p.Expect(writes(p.requests(start), "deployments")).To(HaveLen(1))

	p.runs()
	p.settles()
	start = p.now()
	old := fetch[corev1.Service](p, "my-app-svc")
	p.Expect(p.client.Delete(p.ctx, old)).To(Succeed())
	p.Eventually(func() bool {
		s := fetch[corev1.Service](p, "my-app-svc")
		return s.UID != "" && s.UID != old.UID
	}).Should(BeTrue())
	p.Expect(writes(p.requests(start), "services")).To(HaveLen(1))
}

// expectPrompt checks that the reconciler acted soon after start: within a second on a machine with nothing else to do.
func (p *place) expectPrompt(start int64, what string) {
	p.t.Helper()
	var before, after time.Time
	_, err := p.plane.AuditLog.Read(start, func(r *controlplane.Request) {
		switch {
		case r.Namespace != p.namespace || r.Verb != "patch" || r.Resource != "deployments":
		case r.UserAgent != operatorAgent:
			before = r.Time
		case after.IsZero():
			after = r.Time
		}
	})
	p.Expect(err).NotTo(HaveOccurred())
	p.t.Logf("%s: repaired after %s", what, after.Sub(before).Round(time.Millisecond))
	p.Expect(after.Sub(before)).To(BeNumerically("<", 5*time.Second), what)
}

// writes are the requests that changed something of a resource.
func writes(requests []string, resource string) []string {
	var out []string
	for _, r := range requests {
		var verb, what, name string
		var code int
		if _, err := fmt.Sscan(r, &verb, &what, &name, &code); err == nil && what == resource && verb != "get" && code < 300 {
			out = append(out, r)
		}
	}
	return out
}

// TestRolloutRestart is W-04.
func TestRolloutRestart(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	const key = "kubectl.kubernetes.io/restartedAt"
	p.patch(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "my-app-deploy"}},
		`{"spec":{"template":{"metadata":{"annotations":{"`+key+`":"2026-05-01T12:00:00Z"}}}}}`)
	p.Eventually(func() string {
		return fetch[appsv1.Deployment](p, "my-app-deploy").Annotations["deployment.kubernetes.io/revision"]
	}).Should(Equal("2"))
	p.runs()
	p.settles()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Annotations["deployment.kubernetes.io/revision"]).To(Equal("2"), "a second rollout")

	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	template := fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Template
	p.Expect(template.Annotations).To(HaveKey(key))
	p.Expect(template.Spec.Containers[0].Image).To(Equal("nginx:1.26"))
}

// TestOneChange counts what a change of the spec costs.
func TestOneChange(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	p.settles()
	start := p.now()
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	p.settles()
	p.expectCost(start, "patch deployments my-app-deploy 200")
}

// TestPort is W-10.
func TestPort(t *testing.T) {
	p := newPlace(t)
	p.create(sample(func(w *appv1.WebApp) { w.Spec.Service = &appv1.ServiceSettings{Type: "NodePort"} }))
	p.runs()
	first := fetch[corev1.Service](p, "my-app-svc")

	port := func(port int32, target intstr.IntOrString) {
		t.Helper()
		p.Eventually(func(g Gomega) {
			s := fetch[corev1.Service](p, "my-app-svc")
			g.Expect(s.Spec.Ports).To(HaveLen(1))
			g.Expect(s.Spec.Ports[0].Port).To(Equal(port))
			g.Expect(s.Spec.Ports[0].TargetPort).To(Equal(target))
			g.Expect(s.Spec.ClusterIP).To(Equal(first.Spec.ClusterIP))
			g.Expect(s.Spec.Ports[0].NodePort).To(Equal(first.Spec.Ports[0].NodePort))
		}).Should(Succeed())
	}
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Port = 8080 })
	port(8080, intstr.FromInt32(8080))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.TargetPort = new(int32(9000)) })
	port(8080, intstr.FromInt32(9000))
	p.runs()

	// Somebody replaces the port by another one of the same name.
	p.Eventually(func() error {
		s := fetch[corev1.Service](p, "my-app-svc")
		s.Spec.Ports[0].Port = 81
		return p.client.Update(p.ctx, s, client.FieldOwner("kubectl-edit"))
	}).Should(Succeed())
	port(8080, intstr.FromInt32(9000))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Port = 8081 })
	port(8081, intstr.FromInt32(9000))
	p.runs()
}

// TestStrategy changes the strategy, whose parts exclude each other.
func TestStrategy(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Strategy = &appv1.Strategy{Type: appv1.RecreateStrategy} })
	p.runs()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Strategy).To(Equal(appsv1.DeploymentStrategy{Type: "Recreate"}))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Strategy = nil })
	p.runs()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Strategy.RollingUpdate.MaxSurge.String()).To(Equal("25%"))
}

// TestForeignFields is W-11.
func TestForeignFields(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	p.patch(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "my-app-svc"}}, `{"metadata":{"annotations":{"lb.example.com/id":"1"}}}`)
	p.Expect(p.client.Patch(p.ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "my-app-deploy", Namespace: p.namespace}},
		client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":{"template":{"metadata":{"annotations":{"mesh.example.com/injected":"true"}},
			"spec":{"containers":[{"name":"proxy","image":"proxy:1"}]}}}}`)))).To(Succeed())
	p.Eventually(func() string {
		return fetch[appsv1.Deployment](p, "my-app-deploy").Annotations["deployment.kubernetes.io/revision"]
	}).Should(Equal("2"))
	p.runs()
	p.settles()

	start := p.now()
	p.annotate("example.com/touch", "1")
	p.Consistently(func() []string { return p.requests(start) }, 2*time.Second, 500*time.Millisecond).Should(BeEmpty())
	p.Expect(fetch[corev1.Service](p, "my-app-svc").Annotations).To(HaveKey("lb.example.com/id"))
	template := fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Template
	p.Expect(template.Annotations).To(HaveKey("mesh.example.com/injected"))
	p.Expect(template.Spec.Containers).To(HaveLen(2))

	// A change of our own leaves them alone, too.
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Template.Spec.Containers).To(HaveLen(2))
}

// TestSelectorOfAnotherRelease is W-12: the selector cannot be changed, so the live one is used.
func TestSelectorOfAnotherRelease(t *testing.T) {
	p := newPlace(t)
	w := sample()
	w.Annotations = map[string]string{}
	p.create(w)
	p.runs()
	d := fetch[appsv1.Deployment](p, "my-app-deploy")
	old := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: d.Name, Namespace: d.Namespace, Labels: d.Labels, OwnerReferences: d.OwnerReferences}, Spec: d.Spec}
	old.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"release": "older"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
	old.Spec.Template.Labels = maps.Clone(d.Spec.Template.Labels)
	old.Spec.Template.Labels["release"] = "older"
	p.replaceDeployment(old)
	p.runs()
	p.settles()
	got := fetch[appsv1.Deployment](p, "my-app-deploy")
	p.Expect(got.UID).To(Equal(old.UID))
	p.Expect(got.Spec.Selector).To(Equal(old.Spec.Selector))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Image = "nginx:1.26" })
	p.runs()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Spec.Template.Labels).To(HaveKeyWithValue("release", "older"))
}

// replaceDeployment puts another object in the place of the Deployment before the reconciler does.
func (p *place) replaceDeployment(with *appsv1.Deployment) {
	p.t.Helper()
	p.Eventually(func() error {
		background := client.PropagationPolicy(metav1.DeletePropagationBackground)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: with.Name, Namespace: p.namespace}}
		if err := p.client.Delete(p.ctx, d, background); client.IgnoreNotFound(err) != nil {
			return err
		}
		with.ResourceVersion, with.UID = "", ""
		return p.client.Create(p.ctx, with)
	}, 30*time.Second, time.Millisecond).Should(Succeed())
}

// TestBudget is W-16.
func TestBudget(t *testing.T) {
	p := newPlace(t)
	scale := func(replicas int32) {
		edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Replicas = &replicas })
		p.runs()
	}
	p.create(sample(func(w *appv1.WebApp) {
		w.Spec.Replicas = new(int32(1))
		w.Spec.DisruptionBudget = &appv1.DisruptionBudget{MaxUnavailable: intstr.FromInt32(1)}
	}))
	p.runs()
	p.Expect(p.budgets()).To(BeEmpty())
	scale(3)
	budgets := p.budgets()
	p.Expect(budgets).To(HaveLen(1))
	p.Expect(*budgets[0].Spec.UnhealthyPodEvictionPolicy).To(Equal(policyv1.AlwaysAllow))
	p.Eventually(func() int32 { return p.budgets()[0].Status.DisruptionsAllowed }).Should(Equal(int32(1)))
	scale(1)
	p.Expect(p.budgets()).To(BeEmpty())
}

// TestSuspendAndPause is W-15.
func TestSuspendAndPause(t *testing.T) {
	p := newPlace(t)
	p.create(sample())
	p.runs()
	p.settles()
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Paused, w.Spec.Image = true, "nginx:1.26" })
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		g.Expect(condition(w, workloadv1.ConditionReady).Reason).To(Equal(appv1.ReasonPaused))
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseRunning))
	})
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Annotations["deployment.kubernetes.io/revision"]).To(Equal("1"))
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Paused = false })
	p.runs()
	p.Expect(fetch[appsv1.Deployment](p, "my-app-deploy").Annotations["deployment.kubernetes.io/revision"]).To(Equal("2"))

	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Suspend = true })
	p.becomes(func(g Gomega, w *appv1.WebApp) {
		ready := condition(w, workloadv1.ConditionReady)
		g.Expect(ready.Status).To(Equal(metav1.ConditionTrue))
		g.Expect(ready.Reason).To(Equal(workloadv1.ReasonSuspended))
		g.Expect(w.Status.Phase).To(Equal(appv1.PhaseRunning))
		g.Expect(w.Status.Replicas).To(BeZero())
		g.Expect(*w.Spec.Replicas).To(Equal(int32(3)))
	})
	p.Expect(fetch[corev1.Service](p, "my-app-svc").UID).NotTo(BeEmpty())
	edit(p, "my-app", func(w *appv1.WebApp) { w.Spec.Suspend = false })
	p.runs()
	p.Expect(p.webApp().Status.AvailableReplicas).To(Equal(int32(3)))
}
