package security

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

// permission is one thing that may be done: to a resource, with its subresource, by a verb, in one namespace or everywhere.
type permission struct{ namespace, group, resource, verb string }

func (p permission) String() string {
	return fmt.Sprintf("%s %s.%s in %s", p.verb, p.resource, cmp.Or(p.group, "core"), cmp.Or(p.namespace, "every namespace"))
}

// excuses are the grants that the life of the operator below does not show, and why they are there. A resource is written with its
// group; "watched" stands for all that the operator watches.
var excuses = []struct {
	verb      string
	resources []string
	reason    string
}{
	{"update", []string{"webapps/finalizers.app.example.com", "podsets/finalizers.batch.example.com"},
		"asked for by the admission plugin OwnerReferencesPermissionEnforcement, where it is on"},
	{"create", children, "an apply that makes an object is authorized as create, too, but logged as patch"},
	{"get", children, "a child that exists and is not in the cache is looked at before it is called somebody else's"},
	{"get", []string{"pods.core"}, "a Pod whose creation got no answer is looked for"},
	{"get", []string{"webapps.app.example.com", "podsets.batch.example.com"}, "an owner is read again before it adopts a child"},
	{"get", []string{"watched"}, "it gives nothing that watching does not give"},
	{"patch", []string{"webapps.app.example.com", "podsets.batch.example.com"}, "the migration has objects of the older storage version written anew"},
	{"patch", []string{"customresourcedefinitions/status.apiextensions.k8s.io"}, "the migration says that no object of the older storage version is left"},
	{"list", []string{"watched"}, "client-go lists where the API server cannot stream the beginning of a watch"},
	{"watch", []string{"nodes.core"}, "before Kubernetes 1.35 Pods do not carry the zone of their node"},
	{"patch", []string{"events.events.k8s.io"}, "an Event that comes again is counted up"},
	{"create", []string{"events.events.k8s.io"}, "with a certificate that others provide, an Event says what is wrong with it"},
}

var children = []string{"deployments.apps", "services.core", "horizontalpodautoscalers.autoscaling", "poddisruptionbudgets.policy", "ingresses.networking.k8s.io"}

// excuse is why a grant may go unused, empty if there is no reason.
func excuse(p permission, watched bool) string {
	resource := p.resource + "." + cmp.Or(p.group, "core")
	for _, e := range excuses {
		if e.verb == p.verb && (slices.Contains(e.resources, resource) || watched && slices.Contains(e.resources, "watched")) {
			return e.reason
		}
	}
	return ""
}

// O-11: in a life that uses everything the operator can do, it is never refused, and everything that it may do is needed.
func TestLeastPrivilege(t *testing.T) {
	c := connect(t)
	c.live()
	used, secrets := map[permission]bool{}, map[string]bool{}
	_, err := c.plane.AuditLog.Read(0, func(r *controlplane.Request) {
		if r.User != identity || r.Resource == "" {
			return
		}
		if r.Code == http.StatusForbidden {
			t.Errorf("forbidden: %s %s", r.Verb, r.Path)
		}
		resource := r.Resource
		if r.Subresource != "" {
			resource += "/" + r.Subresource
		}
		if resource == "secrets" {
			secrets[r.Namespace+"/"+cmp.Or(r.Name, r.Path)] = true
		}
		for _, namespace := range []string{"", r.Namespace} {
			used[permission{namespace, r.Group, resource, r.Verb}] = true
		}
	})
	c.Expect(err).NotTo(gomega.HaveOccurred())
	for where := range secrets {
		if !strings.HasPrefix(where, operator.Namespace+"/") || !strings.Contains(where, "workload-operator-webhook-certs") && !strings.HasSuffix(where, "/secrets") {
			t.Errorf("a Secret was asked for that is not ours: %s", where)
		}
	}
	granted := c.granted()
	if len(granted) < 40 {
		t.Errorf("only %d grants found: %v", len(granted), granted)
	}
	var unused []string
	excused := 0
	for _, p := range granted {
		if used[p] {
			continue
		}
		watched := slices.Contains(granted, permission{p.namespace, p.group, p.resource, "watch"})
		if reason := excuse(p, watched); reason != "" {
			excused++
			t.Logf("%s: %s", p, reason)
			continue
		}
		unused = append(unused, p.String())
	}
	if len(unused) > 0 {
		t.Errorf("granted and not used:\n%s", strings.Join(unused, "\n"))
	}
	t.Logf("%d grants, %d of them unused for a reason", len(granted), excused)
}

// granted is everything that the roles bound to the operator allow.
func (c *cluster) granted() []permission {
	c.t.Helper()
	found := map[permission]bool{}
	collect := func(namespace string, rules []rbacv1.PolicyRule) {
		for _, rule := range rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, verb := range rule.Verbs {
						found[permission{namespace, group, resource, verb}] = true
					}
				}
			}
		}
	}
	ours := func(subjects []rbacv1.Subject) bool {
		return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool { return s.Name == account && s.Namespace == operator.Namespace })
	}
	everywhere, inNamespaces := &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}
	c.Expect(c.admin.List(c.t.Context(), everywhere)).To(gomega.Succeed())
	c.Expect(c.admin.List(c.t.Context(), inNamespaces)).To(gomega.Succeed())
	for _, binding := range everywhere.Items {
		if ours(binding.Subjects) {
			role := &rbacv1.ClusterRole{}
			c.Expect(c.admin.Get(c.t.Context(), client.ObjectKey{Name: binding.RoleRef.Name}, role)).To(gomega.Succeed())
			collect("", role.Rules)
		}
	}
	for _, binding := range inNamespaces.Items {
		if ours(binding.Subjects) {
			role := &rbacv1.Role{}
			c.Expect(c.admin.Get(c.t.Context(), client.ObjectKey{Namespace: binding.Namespace, Name: binding.RoleRef.Name}, role)).To(gomega.Succeed())
			collect(binding.Namespace, role.Rules)
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b permission) int { return cmp.Compare(a.String(), b.String()) })
}

// No rule says "everything", and none reads Secrets everywhere, writes roles, or acts as somebody else.
func TestRolesAreNarrow(t *testing.T) {
	c := connect(t)
	for _, p := range c.granted() {
		if strings.Contains(p.group+p.resource+p.verb, "*") {
			t.Errorf("a wildcard: %s", p)
		}
		if p.namespace == "" && slices.Contains([]string{"secrets", "configmaps", "serviceaccounts"}, p.resource) {
			t.Errorf("in the whole cluster: %s", p)
		}
		if p.group == rbacv1.GroupName || slices.Contains([]string{"impersonate", "bind", "escalate"}, p.verb) || p.resource == "serviceaccounts/token" || p.resource == "pods/exec" {
			t.Errorf("more than an operator needs: %s", p)
		}
	}
}

// O-11: nothing of a private key is in the log, at the level that says most.
func TestNoKeyInTheLog(t *testing.T) {
	c := connect(t)
	log, err := os.ReadFile(c.operator.Log())
	c.Expect(err).NotTo(gomega.HaveOccurred())
	c.Expect(len(log)).To(gomega.BeNumerically(">", 1000))
	secret := &corev1.Secret{}
	c.Expect(c.admin.Get(t.Context(), client.ObjectKey{Namespace: operator.Namespace, Name: "workload-operator-webhook-certs"}, secret)).To(gomega.Succeed())
	for _, key := range []string{"tls.key", "ca.key"} {
		lines := bytes.Split(bytes.TrimSpace(secret.Data[key]), []byte("\n"))
		c.Expect(len(lines)).To(gomega.BeNumerically(">=", 3), key)
		for _, line := range append(lines[1:len(lines)-1], []byte("PRIVATE KEY"), []byte(base64.StdEncoding.EncodeToString(secret.Data[key])[:40])) {
			if bytes.Contains(log, line) {
				t.Errorf("the log has a part of %s", key)
			}
		}
	}
}

// live makes the operator do everything that it can do.
func (c *cluster) live() {
	c.t.Helper()
	app := c.make("app.example.com/v1", "WebApp", "everything", map[string]any{
		"image": "web:1", "replicas": int64(2), "ingress": map[string]any{"host": "a.example.com"},
		"autoscaling":      map[string]any{"minReplicas": int64(2), "maxReplicas": int64(4), "targetCPUUtilizationPercentage": int64(80)},
		"disruptionBudget": map[string]any{"maxUnavailable": int64(1)},
		"resources":        map[string]any{"requests": map[string]any{"cpu": "10m"}},
	})
	set := c.make("batch.example.com/v1", "PodSet", "everything", map[string]any{
		"image": "web:1", "replicas": int64(3), "updateStrategy": map[string]any{"type": "InPlace"}})
	for _, object := range []*unstructured.Unstructured{app, set} {
		c.awaitReady(object)
	}
	// What is changed, then what is taken away.
	c.patch(app, `{"spec":{"image":"web:2","port":81,"ingress":{"host":"b.example.com"},"autoscaling":{"maxReplicas":5},"disruptionBudget":{"maxUnavailable":2}}}`)
	c.patch(set, `{"spec":{"image":"web:2"}}`)
	for _, object := range []*unstructured.Unstructured{app, set} {
		c.awaitReady(object)
	}
	c.patch(app, `{"spec":{"ingress":null,"autoscaling":null,"disruptionBudget":null}}`)
	c.patch(set, `{"spec":{"replicas":1}}`)
	for _, object := range []*unstructured.Unstructured{app, set} {
		c.awaitReady(object)
	}
	c.read("/metrics")
	// The certificate: a leaf is renewed, and a bundle repaired.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "workload-operator-webhook-certs"}}
	c.Expect(c.admin.Patch(c.t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(`{"data":{"tls.crt":null}}`)))).To(gomega.Succeed())
	c.Eventually(func() []byte {
		c.Expect(c.admin.Get(c.t.Context(), client.ObjectKeyFromObject(secret), secret)).To(gomega.Succeed())
		return secret.Data["tls.crt"]
	}, patience, interval).ShouldNot(gomega.BeEmpty())
}

// read gets a path of the metrics endpoint, as somebody who may.
func (c *cluster) read(path string) {
	c.t.Helper()
	role := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "workload-operator-metrics-reader"}
	scraper := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "scraper"}}
	c.Expect(c.admin.Create(c.t.Context(), scraper)).To(gomega.Succeed())
	c.Expect(c.admin.Create(c.t.Context(), &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: c.namespace + "-scraper"}, RoleRef: role,
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: c.namespace, Name: "scraper"}}})).To(gomega.Succeed())
	token := &authenticationv1.TokenRequest{}
	c.Expect(c.admin.SubResource("token").Create(c.t.Context(), scraper, token)).To(gomega.Succeed())
	// The certificate of the metrics endpoint is signed by nobody.
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(bearer string) int {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, "https://"+shared.metrics+path, nil)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		request.Header.Set("Authorization", "Bearer "+bearer)
		response, err := web.Do(request)
		c.Expect(err).NotTo(gomega.HaveOccurred())
		defer response.Body.Close()
		return response.StatusCode
	}
	c.Eventually(func() int { return get(token.Status.Token) }, patience, interval).Should(gomega.Equal(http.StatusOK))
	c.Expect(get("nobody")).NotTo(gomega.Equal(http.StatusOK))
}

func (c *cluster) make(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	c.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	object.SetNamespace(c.namespace)
	object.SetName(name)
	c.Expect(c.admin.Create(c.t.Context(), object)).To(gomega.Succeed())
	return object
}

func (c *cluster) patch(object *unstructured.Unstructured, patch string) {
	c.t.Helper()
	c.Expect(c.admin.Patch(c.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch)))).To(gomega.Succeed())
}

// awaitReady waits until an object is Ready for its generation.
func (c *cluster) awaitReady(object *unstructured.Unstructured) {
	c.t.Helper()
	c.Eventually(func() string {
		c.Expect(c.admin.Get(c.t.Context(), client.ObjectKeyFromObject(object), object)).To(gomega.Succeed())
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, condition := range conditions {
			if entry := condition.(map[string]any); entry["type"] == "Ready" {
				return fmt.Sprint(entry["status"], " for ", entry["observedGeneration"])
			}
		}
		return ""
	}, patience, interval).Should(gomega.Equal(fmt.Sprint("True for ", object.GetGeneration())), object.GetKind())
}
