package config_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/manifests"
)

const (
	crdKind        = "CustomResourceDefinition"
	mutatingKind   = "MutatingWebhookConfiguration"
	validatingKind = "ValidatingWebhookConfiguration"
)

func ids(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, o := range objects {
		list = append(list, manifests.ID(o))
	}
	slices.Sort(list)
	return list
}

// The rendered definitions are the embedded ones, so it does not matter which of the two a cluster got.
func TestDefaultShipsEmbeddedCRDs(t *testing.T) {
	files, err := config.CRDFiles()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{}
	for _, data := range files {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &object.Object); err != nil {
			t.Fatal(err)
		}
		want[object.GetName()] = object.Object
	}
	got := map[string]any{}
	for _, crd := range manifests.OfKind(manifests.Kustomize(t, "default"), crdKind) {
		got[crd.GetName()] = crd.Object
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("CustomResourceDefinitions (-embedded +rendered):\n%s", diff)
	}
}

func TestWithoutCRDs(t *testing.T) {
	everything := manifests.Kustomize(t, "default")
	want := slices.DeleteFunc(ids(everything), func(id string) bool { return strings.HasPrefix(id, crdKind+" ") })
	if diff := cmp.Diff(want, ids(manifests.Kustomize(t, "without-crds"))); diff != "" {
		t.Errorf("objects (-default +without-crds):\n%s", diff)
	}
}

// O-08: wherever the operator is installed, what refers to one of its objects follows.
func TestReferencesFollow(t *testing.T) {
	tests := map[string]struct{ folder, namespace, prefix string }{
		"default":   {folder: "default", namespace: "workload-operator-system", prefix: "workload-operator-"},
		"elsewhere": {folder: "testdata/elsewhere", namespace: "elsewhere", prefix: "team-workload-operator-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := manifests.Kustomize(t, test.folder)
			service := map[string]any{"name": test.prefix + "webhook-service", "namespace": test.namespace}
			checkExists(t, objects, "Service "+test.namespace+"/"+test.prefix+"webhook-service")
			checkExists(t, objects, "Namespace /"+test.namespace)
			checkExists(t, objects, mutatingKind+" /"+test.prefix+"mutating-webhook-configuration")
			checkExists(t, objects, validatingKind+" /"+test.prefix+"validating-webhook-configuration")
			checkConversions(t, objects, service)
			checkWebhooks(t, objects, service, test.namespace)
			checkManager(t, objects, service["name"])
			checkBindings(t, objects, test.namespace)
			checkManagerRole(t, objects)
		})
	}
}

func checkExists(t *testing.T, objects []*unstructured.Unstructured, id string) {
	t.Helper()
	if !slices.Contains(ids(objects), id) {
		t.Errorf("%s is missing", id)
	}
}

func checkConversions(t *testing.T, objects []*unstructured.Unstructured, service map[string]any) {
	t.Helper()
	definitions := manifests.OfKind(objects, crdKind)
	if len(definitions) != 2 {
		t.Errorf("%d CustomResourceDefinitions, want 2", len(definitions))
	}
	for _, crd := range definitions {
		checkService(t, crd.GetName(), crd.Object, service, "spec", "conversion", "webhook", "clientConfig", "service")
	}
}

func checkService(t *testing.T, what string, object, want map[string]any, path ...string) {
	t.Helper()
	reference, _, err := unstructured.NestedMap(object, path...)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{"name": reference["name"], "namespace": reference["namespace"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s names another Service (-want +got):\n%s", what, diff)
	}
}

// O-12: kube-system and the operator's own namespace are never held up by our webhooks, except for requests in v1alpha1,
// which conversion holds up anyway and which would destroy what they cannot see.
func checkWebhooks(t *testing.T, objects []*unstructured.Unstructured, service map[string]any, namespace string) {
	t.Helper()
	for _, configuration := range append(manifests.OfKind(objects, mutatingKind), manifests.OfKind(objects, validatingKind)...) {
		for _, webhook := range entries(t, configuration.Object, "webhooks") {
			name, _ := webhook["name"].(string)
			checkService(t, name, webhook, service, "clientConfig", "service")
			var got, want []map[string]any
			if !strings.Contains(name, "v1alpha1") {
				got = entries(t, webhook, "namespaceSelector", "matchExpressions")
				want = []map[string]any{{
					"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": []any{"kube-system", namespace},
				}}
			} else if webhook["namespaceSelector"] != nil {
				t.Errorf("%s excludes namespaces", name)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("namespaces excluded by %s (-want +got):\n%s", name, diff)
			}
			if webhook["timeoutSeconds"] != int64(5) && webhook["timeoutSeconds"] != float64(5) {
				t.Errorf("timeoutSeconds of %s is %v, want 5", name, webhook["timeoutSeconds"])
			}
			if webhook["matchPolicy"] != "Equivalent" {
				t.Errorf("matchPolicy of %s is %v, want Equivalent", name, webhook["matchPolicy"])
			}
		}
	}
}

func checkManager(t *testing.T, objects []*unstructured.Unstructured, service any) {
	t.Helper()
	deployments := manifests.OfKind(objects, "Deployment")
	if len(deployments) != 1 {
		t.Fatalf("%d Deployments, want 1", len(deployments))
	}
	container := entries(t, deployments[0].Object, "spec", "template", "spec", "containers")[0]
	for _, variable := range entries(t, container, "env") {
		if variable["name"] == "WEBHOOK_SERVICE" && variable["value"] != service {
			t.Errorf("the manager is told the Service %v, want %v", variable["value"], service)
		}
	}
}

// checkBindings wants every binding to name a role that is rendered too, and the manager's ServiceAccount.
func checkBindings(t *testing.T, objects []*unstructured.Unstructured, namespace string) {
	t.Helper()
	existing := ids(objects)
	for _, binding := range append(manifests.OfKind(objects, "RoleBinding"), manifests.OfKind(objects, "ClusterRoleBinding")...) {
		role, _, err := unstructured.NestedStringMap(binding.Object, "roleRef")
		if err != nil {
			t.Fatal(err)
		}
		roleNamespace := namespace
		if role["kind"] == "ClusterRole" {
			roleNamespace = ""
		}
		if id := role["kind"] + " " + roleNamespace + "/" + role["name"]; !slices.Contains(existing, id) {
			t.Errorf("%s names %s, which does not exist", binding.GetName(), id)
		}
		for _, subject := range entries(t, binding.Object, "subjects") {
			id, _ := subject["name"].(string)
			if id = "ServiceAccount " + namespace + "/" + id; !slices.Contains(existing, id) || subject["namespace"] != namespace {
				t.Errorf("%s names subject %v, which does not exist", binding.GetName(), subject)
			}
		}
	}
}

// checkManagerRole wants the names in the manager's role to be those of the webhook configurations.
func checkManagerRole(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	var want, got []string
	for _, configuration := range append(manifests.OfKind(objects, mutatingKind), manifests.OfKind(objects, validatingKind)...) {
		want = append(want, configuration.GetName())
	}
	for _, role := range manifests.OfKind(objects, "ClusterRole") {
		for _, rule := range entries(t, role.Object, "rules") {
			if groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups"); slices.Equal(groups, []string{"admissionregistration.k8s.io"}) {
				names, _, _ := unstructured.NestedStringSlice(rule, "resourceNames")
				got = append(got, names...)
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("webhook configurations in the manager's role (-want +got):\n%s", diff)
	}
}

func entries(t *testing.T, object map[string]any, path ...string) []map[string]any {
	t.Helper()
	list, _, err := unstructured.NestedFieldNoCopy(object, path...)
	if err != nil {
		t.Fatal(err)
	}
	items, _ := list.([]any)
	var result []map[string]any
	for _, item := range items {
		entry, ok := item.(map[string]any)
		if !ok {
			t.Fatalf("%s holds %T, want an object", strings.Join(path, "."), item)
		}
		result = append(result, entry)
	}
	return result
}
