package webapp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/example/workload-operator/apis/app/v1"
)

// restricted applies the settings that docs/webapp.md gives for a namespace that enforces the profile restricted.
func restricted(w *appv1.WebApp) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "webapp.md"))
	if err != nil {
		panic(err)
	}
	_, block, _ := strings.Cut(string(raw), "## Restricted Pod Security")
	_, block, _ = strings.Cut(block, "```yaml")
	block, _, _ = strings.Cut(block, "```")
	if err := yaml.UnmarshalStrict([]byte(block), w); err != nil {
		panic(err)
	}
}

// TestRestricted is W-21.
func TestRestricted(t *testing.T) {
	p := newPlace(t)
	p.patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespace}}, `{"metadata":{"labels":{
		"pod-security.kubernetes.io/enforce":"restricted","pod-security.kubernetes.io/warn":"restricted"}}}`)
	p.create(sample(restricted, func(w *appv1.WebApp) { w.Spec.PodLabels = map[string]string{"app": "other", "team": "a"} }))
	other := sample(restricted)
	other.Name = "other"
	p.create(other)
	p.runs()
	pods := p.podsOf("my-app")
	p.Expect(pods).To(HaveLen(3))
	var names []string
	for _, pod := range pods {
		p.Expect(*pod.Spec.AutomountServiceAccountToken).To(BeFalse())
		p.Expect(pod.Labels["app"]).To(Equal("my-app"))
		p.Expect(pod.Labels["team"]).To(Equal("a"))
		names = append(names, pod.Name)
	}
	p.Eventually(func() []string { return p.endpoints("my-app-svc") }).Should(ConsistOf(names), "two WebApps never share endpoints")

	p.Expect(p.warnings(fetch[appsv1.Deployment](p, "my-app-deploy").Spec)).To(BeEmpty())
	p.Expect(p.warnings(managerSpec(t))).To(BeEmpty(), "the operator itself keeps to the profile")
	plain := fetch[appsv1.Deployment](p, "my-app-deploy").Spec
	plain.Template.Spec.SecurityContext = nil
	p.Expect(p.warnings(plain)).To(ConsistOf(ContainSubstring("would violate PodSecurity")), "the check itself works")
}

func (p *place) podsOf(name string) []corev1.Pod {
	p.t.Helper()
	var pods corev1.PodList
	p.Expect(p.client.List(p.ctx, &pods, client.InNamespace(p.namespace), client.MatchingLabels{appv1.LabelWebApp: name})).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}

// endpoints are the names of the Pods that a Service leads to.
func (p *place) endpoints(service string) []string {
	p.t.Helper()
	var slices discoveryv1.EndpointSliceList
	p.Expect(p.client.List(p.ctx, &slices, client.InNamespace(p.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})).To(Succeed())
	var names []string
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			names = append(names, endpoint.TargetRef.Name)
		}
	}
	return names
}

// managerSpec is the Deployment of the operator as shipped.
func managerSpec(t *testing.T) appsv1.DeploymentSpec {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "config", "manager", "manager.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict(raw, &d); err != nil {
		t.Fatal(err)
	}
	return d.Spec
}

// warnings are what the API server says when somebody creates a Deployment like this in the place.
func (p *place) warnings(spec appsv1.DeploymentSpec) []string {
	p.t.Helper()
	heard := &warnings{}
	config := p.plane.RESTConfig()
	config.WarningHandlerWithContext = heard
	c, err := client.New(config, client.Options{Scheme: p.scheme})
	p.Expect(err).NotTo(HaveOccurred())
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "probe", Namespace: p.namespace}, Spec: spec}
	p.Expect(c.Create(p.ctx, d, client.DryRunAll)).To(Succeed())
	return heard.all
}

type warnings struct {
	mu  sync.Mutex
	all []string
}

func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if code == 299 {
		w.all = append(w.all, text)
	}
}
