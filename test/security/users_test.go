package security

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/controlplane"
)

// bind gives a user a ClusterRole in the test's namespace.
func (c *cluster) bind(user, role string) {
	c.t.Helper()
	c.Expect(c.admin.Create(c.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})).To(gomega.Succeed())
}

func (c *cluster) object(apiVersion, kind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	object.SetNamespace(c.namespace)
	object.SetName(name)
	return object
}

// attempts are requests by name, each on the objects of one kind.
var attempts = map[string]func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error{
	"get": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.Get(ctx, client.ObjectKeyFromObject(o), o)
	},
	"list": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(o.GroupVersionKind())
		return as.List(ctx, list, client.InNamespace(o.GetNamespace()))
	},
	"list everywhere": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(o.GroupVersionKind())
		return as.List(ctx, list)
	},
	"create": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		o.SetName("another")
		o.SetResourceVersion("")
		o.SetUID("")
		return as.Create(ctx, o, client.DryRunAll)
	},
	"create elsewhere": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		o.SetNamespace("default")
		o.SetName("another")
		o.SetResourceVersion("")
		return as.Create(ctx, o, client.DryRunAll)
	},
	"patch": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)), client.DryRunAll)
	},
	"delete": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.Delete(ctx, o, client.DryRunAll)
	},
	"delete all": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.DeleteAllOf(ctx, o, client.InNamespace(o.GetNamespace()), client.DryRunAll)
	},
	"get scale": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.SubResource("scale").Get(ctx, o, scaleOf(o))
	},
	"set scale": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.SubResource("scale").Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":2}}`)),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	},
	"set status": func(ctx context.Context, as client.Client, o *unstructured.Unstructured) error {
		return as.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":9}}`)),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	},
}

func scaleOf(o *unstructured.Unstructured) client.Object {
	scale := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale"}}
	scale.SetNamespace(o.GetNamespace())
	scale.SetName(o.GetName())
	return scale
}

// TestUsers is the matrix of what the cluster's own roles mean for our kinds, in both versions.
func TestUsers(t *testing.T) {
	c := connect(t)
	specs := map[string]map[string]any{
		"app.example.com/v1 WebApp":         {"image": "web:1"},
		"app.example.com/v1alpha1 WebApp":   {"image": map[string]any{"repository": "web"}},
		"batch.example.com/v1 PodSet":       {"image": "web:1"},
		"batch.example.com/v1alpha1 PodSet": {"container": map[string]any{"image": "web:1"}},
	}
	c.make("app.example.com/v1", "WebApp", "subject", map[string]any{"image": "web:1"})
	c.make("batch.example.com/v1", "PodSet", "subject", map[string]any{"image": "web:1"})
	reading := []string{"get", "list", "get scale"}
	writing := append([]string{"create", "patch", "delete", "delete all", "set scale"}, reading...)
	allowed := map[string][]string{"view": reading, "edit": writing, "admin": writing, "nobody": nil}
	for role := range allowed {
		if role != "nobody" {
			c.bind("user-"+role, role)
		}
	}
	// The controller that aggregates roles needs a moment.
	c.Eventually(func() error {
		return attempts["get"](t.Context(), c.user("user-view"), c.object("app.example.com/v1", "WebApp", "subject"))
	}, patience, interval).Should(gomega.Succeed())
	for role, can := range allowed {
		as := c.user("user-" + role)
		for which, spec := range specs {
			apiVersion, kind, _ := strings.Cut(which, " ")
			for name, attempt := range attempts {
				object := c.object(apiVersion, kind, "subject")
				object.Object["spec"] = runtime.DeepCopyJSON(spec)
				err := attempt(t.Context(), as, object)
				want := slices.Contains(can, name)
				if (err == nil) != want || err != nil && !apierrors.IsForbidden(err) {
					t.Errorf("%s: %s of %s: %v, want allowed %t", role, name, which, err, want)
				}
			}
		}
	}
}

// TestWebAppsWithoutPods shows what somebody gains who may create WebApps and nothing else: Pods with any ServiceAccount and any
// Secret of the namespace, as with Deployments, and nothing of the node. docs/security.md tells administrators so.
func TestWebAppsWithoutPods(t *testing.T) {
	c := connect(t)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"app.example.com", "batch.example.com"}, Resources: []string{"webapps", "podsets"}, Verbs: []string{"create", "get"}}}}
	c.Expect(c.admin.Create(t.Context(), role)).To(gomega.Succeed())
	c.bind("alice", c.namespace)
	c.Expect(c.admin.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "deployer"}})).To(gomega.Succeed())
	alice := c.user("alice")
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: "x"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	c.Expect(apierrors.IsForbidden(alice.Create(t.Context(), pod))).To(gomega.BeTrue(), "alice may not create Pods")
	c.Expect(apierrors.IsForbidden(alice.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "token"}, &corev1.Secret{}))).To(gomega.BeTrue())

	gained := map[string]any{
		"image": "web:1", "serviceAccountName": "deployer", "automountServiceAccountToken": true,
		"envFrom": []any{map[string]any{"secretRef": map[string]any{"name": "token"}}},
	}
	app := c.object("app.example.com/v1", "WebApp", "gains")
	app.Object["spec"] = gained
	c.Expect(alice.Create(t.Context(), app)).To(gomega.Succeed())
	deployment := &appsv1.Deployment{}
	c.Eventually(func() error {
		return c.admin.Get(t.Context(), client.ObjectKey{Namespace: c.namespace, Name: "gains-deploy"}, deployment)
	}, patience, interval).Should(gomega.Succeed())
	c.Expect(deployment.Spec.Template.Spec.ServiceAccountName).To(gomega.Equal("deployer"))

	for name, spec := range map[string]map[string]any{
		"hostPath":    {"volumes": []any{map[string]any{"name": "v", "hostPath": map[string]any{"path": "/"}}}},
		"hostNetwork": {"hostNetwork": true},
		"hostPID":     {"hostPID": true},
		"nodeName":    {"nodeName": "node-0"},
		"projected":   {"volumes": []any{map[string]any{"name": "v", "projected": map[string]any{}}}},
	} {
		spec["image"] = "web:1"
		for _, kind := range []string{"app.example.com/v1 WebApp", "batch.example.com/v1 PodSet"} {
			apiVersion, kind, _ := strings.Cut(kind, " ")
			object := c.object(apiVersion, kind, strings.ToLower("x"+name))
			object.Object["spec"] = runtime.DeepCopyJSON(spec)
			err := alice.Create(t.Context(), object, client.FieldValidation(metav1.FieldValidationStrict))
			if err == nil {
				t.Errorf("%s takes %s", kind, name)
			}
		}
	}
}

// Pod Security judges the Pods that the operator makes like everybody's: being made by the operator excuses nothing.
func TestPodSecurityHolds(t *testing.T) {
	c := connect(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	c.Expect(c.admin.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"baseline"}}}`)))).To(gomega.Succeed())
	set := c.make("batch.example.com/v1", "PodSet", "privileged", map[string]any{"image": "web:1", "securityContext": map[string]any{"privileged": true}})
	c.Eventually(func() string {
		c.Expect(c.admin.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(gomega.Succeed())
		return fmt.Sprint(set.Object["status"])
	}, patience, interval).Should(gomega.ContainSubstring("violates PodSecurity"))
	pods := &corev1.PodList{}
	c.Expect(c.admin.List(t.Context(), pods, client.InNamespace(c.namespace))).To(gomega.Succeed())
	c.Expect(pods.Items).To(gomega.BeEmpty())
}

// TestServiceAccountPolicy applies the policy of docs/security.md and sees it refuse, in both versions.
func TestServiceAccountPolicy(t *testing.T) {
	c := connect(t)
	for _, object := range fromDocument(t, "security.md") {
		c.Expect(c.admin.Create(t.Context(), object)).To(gomega.Succeed())
		t.Cleanup(func() { _ = c.admin.Delete(context.WithoutCancel(t.Context()), object) })
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.namespace}}
	c.Expect(c.admin.Patch(t.Context(), namespace, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"restrict-service-accounts":"true"},"annotations":{"service-accounts":"web-frontend,web-batch"}}}`)))).To(gomega.Succeed())
	attempt := func(account string) error {
		app := c.object("app.example.com/v1", "WebApp", "policy")
		spec := map[string]any{"image": "web:1"}
		if account != "" {
			spec["serviceAccountName"] = account
		}
		app.Object["spec"] = spec
		return c.admin.Create(t.Context(), app, client.DryRunAll)
	}
	c.Eventually(func() error { return attempt("deployer") }, patience, interval).Should(gomega.MatchError(gomega.ContainSubstring("serviceAccountName")))
	c.Expect(attempt("")).To(gomega.Succeed())
	c.Expect(attempt("default")).To(gomega.Succeed())
	c.Expect(attempt("web-frontend")).To(gomega.Succeed())
	older := c.object("app.example.com/v1alpha1", "WebApp", "policy")
	older.Object["spec"] = map[string]any{"image": map[string]any{"repository": "web"}}
	older.SetAnnotations(map[string]string{"workload.example.com/v1-fields": `{"serviceAccountName":"deployer"}`})
	c.Expect(c.admin.Create(t.Context(), older, client.DryRunAll)).To(gomega.MatchError(gomega.ContainSubstring("serviceAccountName")), "not through the older version either")
}

// fromDocument returns the objects of the YAML blocks of a page.
func fromDocument(t *testing.T, page string) []client.Object {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "docs", page))
	if err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for i, part := range strings.Split(string(content), "```") {
		text, isYAML := strings.CutPrefix(part, "yaml\n")
		if i%2 == 0 || !isYAML {
			continue
		}
		for document := range strings.SplitSeq(text, "\n---\n") {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		t.Fatalf("docs/%s has no YAML", page)
	}
	return objects
}
