package charts

import (
	"fmt"
	"os"
	"path/filepath"
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
		"NoHook": {"uninstall.hook=false", "ClusterRole /workload-operator-uninstall,ClusterRoleBinding /workload-operator-uninstall," +
			"Job workload-operator-system/workload-operator-uninstall,ServiceAccount workload-operator-system/workload-operator-uninstall"},
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

// Each switch adds just what it names.
func TestOptions(t *testing.T) {
	inNamespace := func(kind string, names ...string) string {
		for i, name := range names {
			names[i] = kind + " workload-operator-system/workload-operator" + name
		}
		return strings.Join(names, ",")
	}
	tests := map[string]struct{ set, want string }{
		"ServiceMonitor": {"monitoring.serviceMonitor.enabled=true", inNamespace("ServiceMonitor", "-metrics")},
		"PrometheusRule": {"monitoring.prometheusRule.enabled=true", inNamespace("PrometheusRule", "")},
		"CertManager": {"certificates.mode=cert-manager", inNamespace("Certificate", "-webhook-ca", "-webhook-certs") + "," +
			inNamespace("Issuer", "-selfsigned", "-webhook-ca")},
		"OwnIssuer": {"certificates.mode=cert-manager,certificates.issuerRef.name=house", inNamespace("Certificate", "-webhook-certs")},
		"Provided":  {"certificates.mode=provided,certificates.secretName=mine", ""},
	}
	all := ids(byID(t, render(t, defaultRelease, defaultNamespace)))
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			now := ids(byID(t, render(t, defaultRelease, defaultNamespace, "--set", test.set)))
			added := slices.DeleteFunc(slices.Clone(now), func(id string) bool { return slices.Contains(all, id) })
			if got := strings.Join(added, ","); got != test.want || len(now)-len(added) != len(all) {
				t.Errorf("%s adds %q, want %q", test.set, got, test.want)
			}
		})
	}
}

// What the manager is told of certificates, and what it may do with the Secret: it writes none that somebody else makes.
func TestCertificates(t *testing.T) {
	defaultSecret := "--certificate-secret=workload-operator-webhook-certs"
	reads, writes := []any{"get", "list", "watch"}, []any{"get", "list", "watch", "update"}
	tests := map[string]struct {
		set    string
		args   []any
		verbs  []any
		secret string
	}{
		"Auto": {"certificates.mode=auto", []any{defaultSecret}, writes, "workload-operator-webhook-certs"},
		"SelfManaged": {"certificates.mode=self-managed,certificates.lifetime=48h,certificates.authorityLifetime=1000h", []any{
			defaultSecret, "--certificate-mode=self-managed", "--certificate-lifetime=48h", "--authority-lifetime=1000h",
		}, writes, "workload-operator-webhook-certs"},
		"CertManager": {"certificates.mode=cert-manager,certificates.lifetime=48h,certificates.authorityLifetime=1000h", []any{
			defaultSecret, "--certificate-mode=cert-manager",
		}, reads, "workload-operator-webhook-certs"},
		"Provided": {"certificates.mode=provided,certificates.secretName=mine,certificates.authorityOverlap=2m", []any{
			"--certificate-secret=mine", "--certificate-mode=provided", "--authority-overlap=2m",
		}, reads, "mine"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := render(t, defaultRelease, defaultNamespace, "--set", test.set)
			_, container := manager(t, objects)
			args, _ := container["args"].([]any)
			args = slices.DeleteFunc(args, func(arg any) bool {
				text := fmt.Sprint(arg)
				return !strings.HasPrefix(text, "--certificate") && !strings.HasPrefix(text, "--authority")
			})
			rules, _, err := unstructured.NestedSlice(byID(t, objects)["Role workload-operator-system/workload-operator-webhook-certs-role"].(map[string]any), "rules")
			if err != nil {
				t.Fatal(err)
			}
			last, _ := rules[len(rules)-1].(map[string]any)
			got := []any{args, last["verbs"], last["resourceNames"], len(rules)}
			count := 1
			if slices.Contains(test.verbs, any("update")) {
				count = 2 // create has no name
			}
			if diff := cmp.Diff([]any{test.args, test.verbs, []any{test.secret}, count}, got); diff != "" {
				t.Errorf("flags, verbs, names, rules (-want +got):\n%s", diff)
			}
		})
	}
}

// The certificate of cert-manager has the names that the API server asks for, wherever the release is.
func TestCertificateNames(t *testing.T) {
	objects := render(t, "team", "elsewhere", "--set", "certificates.mode=cert-manager,certificates.issuerRef.name=house,certificates.issuerRef.kind=ClusterIssuer")
	certificates := manifests.OfKind(objects, "Certificate")
	if len(certificates) != 1 {
		t.Fatalf("%d Certificates, want 1", len(certificates))
	}
	spec, _ := certificates[0].Object["spec"].(map[string]any)
	got := map[string]any{"dnsNames": spec["dnsNames"], "issuerRef": spec["issuerRef"], "secretName": spec["secretName"], "duration": spec["duration"]}
	want := map[string]any{
		"dnsNames": []any{
			"team-workload-operator-webhook-service.elsewhere.svc", "team-workload-operator-webhook-service.elsewhere.svc.cluster.local",
		},
		"issuerRef":  map[string]any{"name": "house", "kind": "ClusterIssuer", "group": "cert-manager.io"},
		"secretName": "team-workload-operator-webhook-certs",
		"duration":   "2160h",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Certificate (-want +got):\n%s", diff)
	}
}

// Labels by which a Prometheus selects its objects are added to the chart's own.
func TestMonitoringLabels(t *testing.T) {
	for _, object := range manifests.OfKind(render(t, defaultRelease, defaultNamespace, "--values", "testdata/everything.yaml"), "ServiceMonitor", "PrometheusRule") {
		labels := object.GetLabels()
		if labels["release"] != "prometheus" || labels["helm.sh/chart"] == "" {
			t.Errorf("labels of the %s are %v", object.GetKind(), labels)
		}
	}
}

// O-10: the hook knows its release, comes after its rights and goes with them, and its Pod is none of the manager's.
func TestHook(t *testing.T) {
	hooks := slices.DeleteFunc(render(t, "team", "elsewhere"), func(o *unstructured.Unstructured) bool { return !isHook(o) })
	weights := map[string]string{}
	for _, object := range hooks {
		annotations := object.GetAnnotations()
		weights[object.GetKind()] = annotations["helm.sh/hook-weight"]
		if annotations["helm.sh/hook"] != "pre-delete" || annotations["helm.sh/hook-delete-policy"] != "before-hook-creation,hook-succeeded" {
			t.Errorf("annotations of the %s are %v", object.GetKind(), annotations)
		}
	}
	want := map[string]string{"ServiceAccount": "-2", "ClusterRole": "-2", "ClusterRoleBinding": "-1", "Job": "0"}
	if diff := cmp.Diff(want, weights); diff != "" {
		t.Errorf("weights of the hooks (-want +got):\n%s", diff)
	}
	job := manifests.OfKind(hooks, "Job")[0]
	labels, _, _ := unstructured.NestedStringMap(job.Object, "spec", "template", "metadata", "labels")
	if labels["app.kubernetes.io/component"] == "manager" {
		t.Error("the Service would send requests to the Pod of the hook")
	}
	containers, _, _ := unstructured.NestedSlice(job.Object, "spec", "template", "spec", "containers")
	container, _ := containers[0].(map[string]any)
	if diff := cmp.Diff([]any{"uninstall", "--helm-release=elsewhere/team"}, container["args"]); diff != "" {
		t.Errorf("arguments of the hook (-want +got):\n%s", diff)
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
		"args":              args[len(args)-8:],
		"topologySpread":    pod["topologySpreadConstraints"],
		"resources":         container["resources"],
		"imagePullPolicy":   container["imagePullPolicy"],
		"imagePullSecrets":  pod["imagePullSecrets"],
		"priorityClassName": pod["priorityClassName"],
		"nodeSelector":      pod["nodeSelector"],
		"tolerations":       pod["tolerations"],
		"affinity":          pod["affinity"],
	}
	want := map[string]any{
		"args": []any{
			"--certificate-mode=cert-manager", "--authority-overlap=10m", "--auto-migrate=false", "--kube-api-qps=20.5", "--kube-api-burst=50",
			"--zap-log-level=debug", "--concurrency=8", "--tls-min-version=1.2",
		},
		"topologySpread": []any{map[string]any{
			"maxSkew": int64(1), "topologyKey": "example.com/rack", "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": []any{"pod-template-hash"},
			"labelSelector": map[string]any{"matchLabels": map[string]any{
				"app.kubernetes.io/name": "workload-operator", "app.kubernetes.io/component": "manager",
			}},
		}},
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
	if diff := cmp.Diff(want, got, numbersAsFloats); diff != "" {
		t.Errorf("Pod (-want +got):\n%s", diff)
	}
}

// A shard is what reconciles, and nothing that a cluster has once: no definitions, webhooks, certificates, guard or hook. Nothing of
// it has the name or the Pods of something of the release beside it.
func TestShard(t *testing.T) {
	set := "shard.name=a,shard.namespaces={x,y},certificates.mode=cert-manager,monitoring.serviceMonitor.enabled=true"
	objects := render(t, "shard-a", defaultNamespace, "--set", set)
	got := ids(byID(t, objects))
	fullname := "shard-a-workload-operator-"
	var want []string
	for kind, names := range map[string][]string{
		"ClusterRole /":                                 {"manager-role", "metrics-auth-role", "metrics-reader"},
		"ClusterRoleBinding /":                          {"manager-rolebinding", "metrics-auth-rolebinding"},
		"Deployment workload-operator-system/":          {"controller-manager"},
		"NetworkPolicy workload-operator-system/":       {"allow-metrics"},
		"PodDisruptionBudget workload-operator-system/": {"controller-manager"},
		"Role workload-operator-system/":                {"leader-election-role"},
		"RoleBinding workload-operator-system/":         {"leader-election-rolebinding"},
		"Service workload-operator-system/":             {"metrics-service"},
		"ServiceAccount workload-operator-system/":      {"controller-manager"},
		"ServiceMonitor workload-operator-system/":      {"metrics"},
	} {
		for _, name := range names {
			want = append(want, kind+fullname+name)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	main := byID(t, render(t, defaultRelease, defaultNamespace))
	for _, id := range got {
		if main[id] != nil {
			t.Errorf("%s is part of both releases", id)
		}
	}
	_, container := manager(t, objects)
	wantArgs := []any{"--leader-elect", "--metrics-bind-address=:8443", "--health-probe-bind-address=:8081", "--shard=a", "--namespaces=x,y", "--webhooks=false"}
	if diff := cmp.Diff(wantArgs, container["args"]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	labels, _, _ := unstructured.NestedStringMap(manifests.OfKind(objects, "Deployment")[0].Object, "spec", "template", "metadata", "labels")
	if labels["app.kubernetes.io/component"] != "shard" || labels["workload.example.com/shard"] != "a" {
		t.Errorf("the labels of the Pods are %v: the Service of the webhooks must not find them", labels)
	}
	_, container = manager(t, render(t, defaultRelease, defaultNamespace, "--set", "exceptNamespaces={x,y}"))
	if args, _ := container["args"].([]any); !slices.Contains(args, any("--except-namespaces=x,y")) {
		t.Errorf("the other release is told %v", args)
	}
}

// O-09: helm upgrade --reuse-values renders with the values of the chart that is installed. Those that it did not have are absent then,
// which does the same as their defaults.
func TestReusedValues(t *testing.T) {
	const first = "testdata/first_values.yaml"
	values, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	chart := t.TempDir()
	if err := os.CopyFS(chart, os.DirFS(shipped)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(chart, "values.yaml"), values, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, flags := range map[string][]string{
		"Default":  nil,
		"Optional": {"--set", "certificates.mode=cert-manager,monitoring.serviceMonitor.enabled=true,monitoring.prometheusRule.enabled=true"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := outputOf(t, chart, defaultRelease, defaultNamespace, flags...)
			if err != nil {
				t.Fatalf("%v\n%s", err, manifests.Stderr(err))
			}
			want := byID(t, render(t, defaultRelease, defaultNamespace, append(flags, "--values", first)...))
			if diff := cmp.Diff(want, byID(t, manifests.Decode(t, out))); diff != "" {
				t.Errorf("objects (-values by default +values absent):\n%s", diff)
			}
		})
	}
}

// A mistyped key or value is refused, it does not silently change nothing.
func TestSchemaRefuses(t *testing.T) {
	for _, set := range []string{
		"crds.step=R1", "crds.steps=R3", "crds=R3", "replica=3", "replicas=-1", "replicas=two", "image.tagg=v2", "image.tag=a b", "image.repository=", "image.digest=sha256:1", "image.pullPolicy=Sometimes",
		"imagePullSecrets[0]=registry", "imagePullSecrets[0].nam=registry", "webhook.failurePolicy=ignore", "webhook.timeoutSeconds=5", "logLevel=loud",
		"logLevel=0", "extraArgs=--v", "extraArgs[0]=v", "resources.limit.cpu=1", "networkPolicy=true", "networkPolicy.enable=true",
		"podDisruptionBudget.minAvailable=1", "autoMigrate=later", "certificates.mode=manual", "certificates.mode=provided", "certificates.secret=x",
		"certificates.secretName=A", "certificates.lifetime=90d", "certificates.lifetime=-1h", "certificates.issuerRef.name=house",
		"certificates.mode=provided,certificates.secretName=x,certificates.lifetime=1h", "certificates.mode=cert-manager,certificates.issuerRef.kind=Issuer",
		"shard.name=a", "shard.namespaces={x}", "shard.name=A,shard.namespaces={x}", "shard.name=a,shard.namespaces={X}",
		"exceptNamespaces=x", "exceptNamespaces={x},shard.name=a,shard.namespaces={y}",
		"kubeAPI.qps=-1", "kubeAPI.burst=1.5", "topologySpread.whenUnsatisfiable=Maybe", "topologySpread.keys=zone",
		"monitoring.enabled=true", "monitoring.serviceMonitor=true", "monitoring.prometheusRule.labels.a=1", "uninstall=false", "uninstall.hook=maybe", "tolerations=x", "global=x", "enabled=maybe",
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
