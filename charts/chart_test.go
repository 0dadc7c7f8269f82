package charts

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/example/workload-operator/test/manifests"
)

// helmLabels are on every object of the chart and on none of kustomize.
var helmLabels = []string{
	"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/version", "app.kubernetes.io/managed-by", "helm.sh/chart",
}

// O-08: Helm and kustomize render the same objects. What differs on purpose is taken out of the two by differences. The hook is what
// only Helm has.
func TestSameAsKustomize(t *testing.T) {
	tests := map[string]struct {
		folder string
		flags  []string
	}{
		"Default": {"default", nil},
		"Optional": {"../charts/testdata/optional", []string{
			"--set", "certificates.mode=cert-manager,monitoring.serviceMonitor.enabled=true",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			manifests.ReadInputs(t, "testdata")
			chart := slices.DeleteFunc(render(t, defaultRelease, defaultNamespace, test.flags...), isHook)
			tree := differences(t, manifests.Kustomize(t, test.folder))
			withoutHelmsMetadata(t, chart, tree)
			if diff := cmp.Diff(byID(t, tree), byID(t, chart)); diff != "" {
				t.Errorf("objects (-kustomize +helm), run make chart after a change of config/:\n%s", diff)
			}
		})
	}
}

func isHook(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()["helm.sh/hook"] != ""
}

// The rules of the chart are those of the file. Prometheus' own templates in them come through as they are.
func TestSameRules(t *testing.T) {
	file := "../config/monitoring/rules.yaml"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := manifests.Decode(t, data)[0]
	got := manifests.OfKind(render(t, defaultRelease, defaultNamespace, "--set", "monitoring.prometheusRule.enabled=true"), "PrometheusRule")
	if len(got) != 1 {
		t.Fatalf("%d PrometheusRules, want 1", len(got))
	}
	if diff := cmp.Diff(want.Object["spec"], got[0].Object["spec"]); diff != "" {
		t.Errorf("rules (-%s +chart), run make chart after a change:\n%s", file, diff)
	}
}

// differences makes of kustomize's objects those of the chart:
//   - The Namespace is the business of whoever installs the release.
//   - The image has the version of the chart.
//   - The manager is told every name, none through the environment: a release may have any prefix.
//   - A release's monitor takes its own metrics only: another release may be a shard in the same namespace.
func differences(t *testing.T, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	pod, container := manager(t, objects)
	container["image"] = "workload-operator:0.1.0"
	args, _ := container["args"].([]any)
	own := []any{"--webhook-service=$(WEBHOOK_SERVICE)", "--certificate-mode=cert-manager"}
	added := slices.DeleteFunc(slices.Clone(args), func(arg any) bool { return arg == own[0] || !slices.Contains(own, arg) })
	args = slices.DeleteFunc(args, func(arg any) bool { return slices.Contains(own, arg) })
	container["args"] = append(append(args,
		"--webhook-service=workload-operator-webhook-service",
		"--validating-webhook-configuration=workload-operator-validating-webhook-configuration",
		"--mutating-webhook-configuration=workload-operator-mutating-webhook-configuration",
		"--certificate-secret=workload-operator-webhook-certs",
	), added...)
	env, _ := container["env"].([]any)
	container["env"] = slices.DeleteFunc(env, func(entry any) bool {
		variable, _ := entry.(map[string]any)
		return variable["name"] == "WEBHOOK_SERVICE"
	})
	setManager(t, objects, pod, container)
	for _, monitor := range manifests.OfKind(objects, "ServiceMonitor") {
		if err := unstructured.SetNestedField(monitor.Object, defaultRelease, "spec", "selector", "matchLabels", "app.kubernetes.io/instance"); err != nil {
			t.Fatal(err)
		}
	}
	return objects
}

// withoutHelmsMetadata removes from the chart's objects what they must have and kustomize's have not.
func withoutHelmsMetadata(t *testing.T, chart, tree []*unstructured.Unstructured) {
	t.Helper()
	own := map[string]map[string]string{}
	for _, object := range tree {
		own[object.GetKind()+object.GetName()] = object.GetLabels()
	}
	for _, object := range chart {
		labels := object.GetLabels()
		for _, label := range helmLabels {
			if labels[label] == "" {
				t.Errorf("%s %s has no label %s", object.GetKind(), object.GetName(), label)
			}
			if own[object.GetKind()+object.GetName()][label] == "" {
				delete(labels, label)
			}
		}
		object.SetLabels(nilIfEmpty(labels))
		annotations := object.GetAnnotations()
		if keep := annotations["helm.sh/resource-policy"] == "keep"; keep != (object.GetKind() == "CustomResourceDefinition") {
			t.Errorf("%s %s: kept when the release goes is %t", object.GetKind(), object.GetName(), keep)
		}
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(nilIfEmpty(annotations))
	}
}

// nilIfEmpty makes the setters remove the field.
func nilIfEmpty(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// O-08: wherever the release is, it is the default one with another prefix and namespace, and names that Kubernetes accepts.
func TestReferencesFollow(t *testing.T) {
	tests := map[string]struct{ release, namespace, fullname string }{
		"Other":              {"team", "elsewhere", "team-workload-operator"},
		"NameOfChartWithin":  {"my-workload-operator", "elsewhere", "my-workload-operator"},
		"Dots":               {"team.a", "elsewhere", "team-a-workload-operator"},
		"DigitFirst":         {"1st", "123", "workload-operator-1st"},
		"Longest":            {strings.Repeat("x", 53), "e", strings.Repeat("x", 44)},
		"LongestDigitFirst":  {strings.Repeat("1", 53), "0x1", "workload-operator-" + strings.Repeat("1", 26)},
		"CutAtHyphen":        {strings.Repeat("x", 43) + "-yyy", "true", strings.Repeat("x", 43)},
		"ReleaseNamespaceIs": {"workload-operator", "kube-system", "workload-operator"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			want := render(t, defaultRelease, defaultNamespace)
			got := render(t, test.release, test.namespace)
			for _, object := range want {
				object.Object, _ = moved(object.Object, test.fullname, test.namespace).(map[string]any)
			}
			withoutInstance(want)
			withoutInstance(got)
			if diff := cmp.Diff(byID(t, want), byID(t, got)); diff != "" {
				t.Errorf("objects (-default one, moved +rendered):\n%s", diff)
			}
			checkNames(t, got)
		})
	}
}

// moved replaces prefix and namespace in every string of the default release.
func moved(value any, fullname, namespace string) any {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			v[key] = moved(entry, fullname, namespace)
		}
	case []any:
		for i, entry := range v {
			v[i] = moved(entry, fullname, namespace)
		}
	case string:
		flag, name, isFlag := strings.Cut(v, "=")
		switch {
		case v == defaultNamespace:
			return namespace
		case strings.HasPrefix(v, defaultRelease+"-0."): // the label with name and version of the chart
			return v
		case strings.HasPrefix(v, defaultRelease+"-"):
			return fullname + strings.TrimPrefix(v, defaultRelease)
		case isFlag && strings.HasPrefix(name, defaultRelease+"-"):
			return flag + "=" + fullname + strings.TrimPrefix(name, defaultRelease)
		}
	}
	return value
}

// withoutInstance removes the name of the release itself.
func withoutInstance(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() == "Job" {
			unstructured.RemoveNestedField(object.Object, "spec", "template", "spec", "containers")
		}
		labels := object.GetLabels()
		delete(labels, "app.kubernetes.io/instance")
		object.SetLabels(labels)
	}
}

func checkNames(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range objects {
		check := validation.IsDNS1123Subdomain
		switch object.GetKind() {
		case "Service":
			check = validation.IsDNS1035Label
		case "Deployment": // its name may become a label
			check = validation.IsDNS1123Label
		}
		for _, message := range check(object.GetName()) {
			t.Errorf("%s %s: %s", object.GetKind(), object.GetName(), message)
		}
		for key, value := range object.GetLabels() {
			for _, message := range validation.IsValidLabelValue(value) {
				t.Errorf("%s %s: label %s: %s", object.GetKind(), object.GetName(), key, message)
			}
		}
	}
}

// O-08: the names that the manager is told are those of objects of the release, and its roles allow it just these.
func TestManagerIsToldNames(t *testing.T) {
	objects := render(t, "team", "elsewhere")
	contents := byID(t, objects)
	_, container := manager(t, objects)
	flags := map[string]string{}
	args, _ := container["args"].([]any)
	for _, arg := range args {
		text, _ := arg.(string)
		flag, value, _ := strings.Cut(text, "=")
		flags[flag] = value
	}
	for flag, kind := range map[string]string{
		"--webhook-service":                  "Service elsewhere/",
		"--validating-webhook-configuration": "ValidatingWebhookConfiguration /",
		"--mutating-webhook-configuration":   "MutatingWebhookConfiguration /",
	} {
		if contents[kind+flags[flag]] == nil {
			t.Errorf("%s is %q, there is no %s%s", flag, flags[flag], kind, flags[flag])
		}
	}
	granted := grantedNames(t, slices.DeleteFunc(objects, isHook))
	want := map[string][]string{
		"customresourcedefinitions":        {"podsets.batch.example.com", "webapps.app.example.com"},
		"customresourcedefinitions/status": {"podsets.batch.example.com", "webapps.app.example.com"},
		"leases":                           {"workload-operator.example.com"},
		"mutatingwebhookconfigurations":    {flags["--mutating-webhook-configuration"]},
		"secrets":                          {flags["--certificate-secret"]},
		"validatingwebhookconfigurations":  {flags["--validating-webhook-configuration"]},
	}
	if diff := cmp.Diff(want, granted); diff != "" {
		t.Errorf("names in the roles (-told +granted):\n%s", diff)
	}
}

// grantedNames returns the resourceNames of all roles by resource.
func grantedNames(t *testing.T, objects []*unstructured.Unstructured) map[string][]string {
	t.Helper()
	names := map[string][]string{}
	for _, role := range manifests.OfKind(objects, "Role", "ClusterRole") {
		rules, _, err := unstructured.NestedSlice(role.Object, "rules")
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range rules {
			rule, _ := entry.(map[string]any)
			resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
			for _, resource := range resources {
				if list, _, _ := unstructured.NestedStringSlice(rule, "resourceNames"); len(list) > 0 {
					names[resource] = append(names[resource], list...)
				}
			}
		}
	}
	return names
}

// O-09: rendering again gives the same bytes, and never a caBundle, which belongs to the operator.
func TestRendersTheSameTwice(t *testing.T) {
	var outputs [2][]byte
	for i := range outputs {
		out, err := templateOutput(t, defaultRelease, defaultNamespace)
		if err != nil {
			t.Fatalf("helm template: %v\n%s", err, manifests.Stderr(err))
		}
		outputs[i] = out
	}
	if diff := cmp.Diff(string(outputs[0]), string(outputs[1])); diff != "" {
		t.Errorf("rendered twice:\n%s", diff)
	}
	if bytes.Contains(outputs[0], []byte("caBundle")) {
		t.Error("the chart renders a caBundle: an upgrade would take away the operator's")
	}
	// An upgrade renders what an install did.
	upgrade, err := templateOutput(t, defaultRelease, defaultNamespace, "--is-upgrade")
	if err != nil {
		t.Fatalf("helm template --is-upgrade: %v\n%s", err, manifests.Stderr(err))
	}
	if diff := cmp.Diff(string(outputs[0]), string(upgrade)); diff != "" {
		t.Errorf("objects (-install +upgrade):\n%s", diff)
	}
}

// O-09: what depends on chance, the clock or the cluster shows only on another day, so the functions themselves are looked for.
func TestTemplatesArePure(t *testing.T) {
	impure := regexp.MustCompile(`\{\{[^}]*\b(lookup|now|date|ago|rand\w+|gen[A-Z]\w+|uuidv4|htpasswd|bcrypt|env|expandenv|getHostByName|Revision)\b[^}]*\}\}`)
	err := filepath.WalkDir("workload-operator/templates", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, action := range impure.FindAllString(string(data), -1) {
			t.Errorf("%s: %s", path, action)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every object is one that the API machinery decodes strictly, with all optional values too.
func TestObjectsDecodeStrictly(t *testing.T) {
	types := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(scheme.AddToScheme, apiextensionsv1.AddToScheme)
	if err := builder.AddToScheme(types); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	for name, flags := range map[string][]string{"Default": nil, "Everything": {"--values", "testdata/everything.yaml"}} {
		t.Run(name, func(t *testing.T) {
			for _, object := range render(t, "team", "elsewhere", flags...) {
				if group := object.GroupVersionKind().Group; group == "cert-manager.io" || group == "monitoring.coreos.com" {
					continue // no types of these here; TestSameAsKustomize compares them
				}
				data, err := object.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				if _, _, err := decoder.Decode(data, nil, nil); err != nil {
					t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
				}
			}
		})
	}
}
