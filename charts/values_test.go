package charts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/manifests"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestImage(t *testing.T) {
	tests := map[string]struct {
		flags []string
		want  string
	}{
		"Default":        {nil, "workload-operator:0.1.0"},
		"RepositoryTag":  {[]string{"--set", "image.repository=r.example:5000/op,image.tag=v2"}, "r.example:5000/op:v2"},
		"TagIsNumber":    {[]string{"--set-string", "image.tag=2"}, "workload-operator:2"},
		"Digest":         {[]string{"--set", "image.digest=" + digest}, "workload-operator@" + digest},
		"DigestAndTag":   {[]string{"--set", "image.tag=v2,image.digest=" + digest}, "workload-operator@" + digest},
		"ParentsGlobals": {[]string{"--set", "global.image.tag=v9,enabled=true"}, "workload-operator:0.1.0"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, container := manager(t, render(t, defaultRelease, defaultNamespace, test.flags...))
			if container["image"] != test.want {
				t.Errorf("image is %v, want %s", container["image"], test.want)
			}
		})
	}
}

// The definitions of a step are those that workloadctl crds prints.
func TestStep(t *testing.T) {
	for _, step := range config.Steps()[1:] { // at the first, there is nothing that the operator could do
		t.Run(string(step), func(t *testing.T) {
			crds, err := config.CRDsAt(step)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			for _, crd := range crds {
				object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
				if err != nil {
					t.Fatal(err)
				}
				want[crd.Name] = object["spec"]
			}
			got := map[string]any{}
			for _, crd := range manifests.OfKind(render(t, defaultRelease, defaultNamespace, "--set", "crds.step="+string(step)), "CustomResourceDefinition") {
				got[crd.GetName()] = crd.Object["spec"]
			}
			if diff := cmp.Diff(want, got, numbersAsFloats); diff != "" {
				t.Errorf("CustomResourceDefinitions (-want +got):\n%s", diff)
			}
		})
	}
}

// numbersAsFloats compares numbers that were decoded by different libraries.
var numbersAsFloats = cmp.FilterValues(func(a, b any) bool { return isInt(a) != isInt(b) }, cmp.Comparer(func(a, b any) bool {
	return fmt.Sprint(a) == fmt.Sprint(b)
}))

func isInt(value any) bool {
	_, ok := value.(int64)
	return ok
}

func TestFailurePolicy(t *testing.T) {
	for _, policy := range []string{"Ignore", "Fail"} {
		t.Run(policy, func(t *testing.T) {
			got := map[string]any{}
			for _, configuration := range manifests.OfKind(render(t, defaultRelease, defaultNamespace, "--set", "webhook.failurePolicy="+policy),
				"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration") {
				webhooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
				if err != nil {
					t.Fatal(err)
				}
				for _, entry := range webhooks {
					webhook, _ := entry.(map[string]any)
					got[fmt.Sprint(webhook["name"])] = webhook["failurePolicy"]
				}
			}
			want := map[string]any{}
			for _, verb := range []string{"default", "validate"} {
				for _, resource := range []string{"podsets.batch.example.com", "webapps.app.example.com"} {
					want[verb+"-v1."+resource] = policy
					want[verb+"-v1alpha1."+resource] = "Fail"
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("failure policies (-want +got):\n%s", diff)
			}
		})
	}
}

// Each switch takes away just what it names.
func TestSwitches(t *testing.T) {
	budget := "PodDisruptionBudget workload-operator-system/workload-operator-controller-manager"
	tests := map[string]struct{ set, want string }{
		"NoNetworkPolicy": {"networkPolicy.enabled=false", "NetworkPolicy workload-operator-system/workload-operator-allow-metrics," +
			"NetworkPolicy workload-operator-system/workload-operator-allow-webhook"},
		"NoBudget":         {"podDisruptionBudget.enabled=false", budget},
		"OneReplica":       {"replicas=1", budget},
		"ThreeReplicas":    {"replicas=3", ""},
		"ParentsCondition": {"enabled=false", ""},
	}
	all := ids(byID(t, render(t, defaultRelease, defaultNamespace)))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			left := ids(byID(t, render(t, defaultRelease, defaultNamespace, "--set", test.set)))
			gone := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(left, id) })
			if got := strings.Join(gone, ","); got != test.want || len(left)+len(gone) != len(all) {
				t.Errorf("%s takes away %q, want %q", test.set, got, test.want)
			}
		})
	}
}

func ids(contents map[string]any) []string {
	var list []string
	for id := range contents {
		list = append(list, id)
	}
	slices.Sort(list)
	return list
}

func TestEverythingSet(t *testing.T) {
	objects := render(t, defaultRelease, defaultNamespace, "--values", "testdata/everything.yaml")
	pod, container := manager(t, objects)
	args, _ := container["args"].([]any)
	got := map[string]any{
		"args":              args[len(args)-3:],
		"resources":         container["resources"],
		"imagePullPolicy":   container["imagePullPolicy"],
		"imagePullSecrets":  pod["imagePullSecrets"],
		"priorityClassName": pod["priorityClassName"],
		"nodeSelector":      pod["nodeSelector"],
		"tolerations":       pod["tolerations"],
		"affinity":          pod["affinity"],
	}
	want := map[string]any{
		"args":              []any{"--zap-log-level=debug", "--concurrency=8", "--tls-min-version=1.2"},
		"resources":         map[string]any{"requests": map[string]any{"cpu": "1", "memory": "1Gi"}, "limits": map[string]any{"memory": "2Gi"}},
		"imagePullPolicy":   "Always",
		"imagePullSecrets":  []any{map[string]any{"name": "registry"}},
		"priorityClassName": "system-cluster-critical",
		"nodeSelector":      map[string]any{"kubernetes.io/os": "linux"},
		"tolerations":       []any{map[string]any{"key": "infra", "operator": "Exists"}},
		"affinity": map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{
			"nodeSelectorTerms": []any{map[string]any{"matchExpressions": []any{
				map[string]any{"key": "infra", "operator": "Exists"},
			}}},
		}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Pod (-want +got):\n%s", diff)
	}
}

// A mistyped key or value is refused, it does not silently change nothing.
func TestSchemaRefuses(t *testing.T) {
	for _, set := range []string{
		"crds.step=R1", "crds.steps=R3", "crds=R3", "replica=3", "replicas=-1", "replicas=two", "image.tagg=v2", "image.tag=a b", "image.repository=", "image.digest=sha256:1", "image.pullPolicy=Sometimes",
		"imagePullSecrets[0]=registry", "imagePullSecrets[0].nam=registry", "webhook.failurePolicy=ignore", "webhook.timeoutSeconds=5", "logLevel=loud",
		"logLevel=0", "extraArgs=--v", "extraArgs[0]=v", "resources.limit.cpu=1", "networkPolicy=true", "networkPolicy.enable=true",
		"podDisruptionBudget.minAvailable=1", "tolerations=x", "global=x", "enabled=maybe",
	} {
		t.Run(set, func(t *testing.T) {
			key, _, _ := strings.Cut(set, "=")
			key, _, _ = strings.Cut(key, ".")
			key, _, _ = strings.Cut(key, "[")
			_, err := templateOutput(t, defaultRelease, defaultNamespace, "--set", set)
			if message := manifests.Stderr(err); !strings.Contains(message, key) || !strings.Contains(message, "schema") {
				t.Errorf("%s: want an error of the schema about %s, got %v\n%s", set, key, err, message)
			}
		})
	}
}
