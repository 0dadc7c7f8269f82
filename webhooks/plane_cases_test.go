package webhooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const hold = "example.net/hold"

// legacyMount is what an object looks like that was stored before mounts had to name a volume.
const legacyMount = `{"metadata": {"finalizers": ["` + hold + `"]}, "spec": {"volumeMounts": [{"name": "gone", "mountPath": "/gone"}]}}`

func TestOnPlane(t *testing.T) {
	c := startCluster(t, func(c *cluster) {
		for gk := range resources {
			for name, object := range map[string][]byte{
				"legacy-v1":       base(t, gk.WithVersion("v1"), legacyMount),
				"legacy-v1alpha1": base(t, gk.WithVersion("v1"), legacyMount),
				long(61):          base(t, gk.WithVersion("v1"), `{"metadata": {"finalizers": ["`+hold+`"]}}`),
			} {
				if err := c.create(t, gk, "v1", named(t, object, name), false); err != nil {
					t.Fatal(err)
				}
			}
		}
		storeTraps(t, c)
	})
	for _, test := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"A-01 to A-08 bad specs", testBadSpecs},
		{"offline and online agree", testOfflineAgrees},
		{"A-08 Deployments are never refused", testDeployments},
		{"A-09 names", testNamesOnPlane},
		{"A-10 replace", testReplace},
		{"A-11 kept annotation edited", testKeptEdited},
		{"A-12 backup and restore", testBackup},
		{"A-13 smuggling", testSmuggling},
		{"values that conversion cannot read", testUnreadable},
		{"A-14 A-16 ratchet", testRatchetOnPlane},
		{"A-15 finalizers", testFinalizers},
		{"A-14 to A-16 every invalid object", testTraps},
		{"A-17 budget", testBudget},
		{"A-18 warnings", testWarningsOnPlane},
		{"A-19 defaults", testDefaultsOnPlane},
		{"A-20 two managers", testTwoManagers},
		{"A-21 scale", testScale},
		{"A-22 status", testStatus},
		{"A-24 dry run", testDryRun},
		{"no needless calls", testCalls},
		{"A-23 webhooks down", testWebhooksDown},
		{"webhooks that do not answer", testWebhooksHang},
		{"webhooks removed", testWebhooksRemoved},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, c) })
	}
}

func testBadSpecs(t *testing.T, c *cluster) {
	for gvk, samples := range badSpecs {
		for _, sample := range samples {
			t.Run(gvk.Kind+" "+gvk.Version+"/"+sample.reason, func(t *testing.T) {
				err := c.create(t, gvk.GroupKind(), gvk.Version, base(t, gvk, `{"spec": `+sample.spec+`}`), true)
				for _, field := range causes(t, err) {
					if !strings.HasPrefix(field, sample.want) {
						t.Errorf("refused at %s, want %s: %v", field, sample.want, err)
					}
				}
				if !strings.Contains(err.Error(), sample.want) {
					t.Errorf("the message does not name %s: %v", sample.want, err)
				}
			})
		}
	}
}

// what we accept, the API of Deployments accepts. Most of what we refuse it would refuse too: no rule is stricter by mistake.
func testDeployments(t *testing.T, c *cluster) {
	deployments := c.client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(namespace)
	for _, sample := range slices.Concat(settingsSamples, ruleSamples, portSamples, webAppSamples) {
		if sample.only {
			continue
		}
		object := base(t, webApp.WithVersion("v1"), `{"spec": `+sample.spec+`}`)
		deployment := deploymentOf(t, object)
		_, err := deployments.Create(t.Context(), deployment, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		refused := apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)
		if err != nil && !refused {
			t.Fatal(err)
		}
		if wanted := sample.want != ""; refused != wanted {
			t.Errorf("%s: Deployment refused: %t, want %t: %v", sample.reason, refused, wanted, err)
		}
	}
}

// deploymentOf puts the settings of a WebApp where a Deployment has them.
func deploymentOf(t *testing.T, webApp []byte) *unstructured.Unstructured {
	t.Helper()
	spec, _ := members(valueAt(webApp, "spec"))
	template := map[string]json.RawMessage{}
	container := map[string]json.RawMessage{"name": json.RawMessage(`"app"`)}
	for _, name := range []string{"image", "imagePullPolicy", "command", "args", "env", "envFrom", "ports", "resources", "volumeMounts", "securityContext"} {
		if spec[name] != nil {
			container[name] = spec[name]
		}
	}
	for _, probe := range []string{"startup", "readiness", "liveness"} {
		if value := valueAt(spec["probes"], probe); value != nil {
			container[probe+"Probe"] = value
		}
	}
	for _, name := range []string{"volumes", "imagePullSecrets", "serviceAccountName", "nodeSelector", "tolerations", "affinity", "topologySpreadConstraints", "terminationGracePeriodSeconds"} {
		if spec[name] != nil {
			template[name] = spec[name]
		}
	}
	if spec["podSecurityContext"] != nil {
		template["securityContext"] = spec["podSecurityContext"]
	}
	template["containers"], _ = json.Marshal([]any{container})
	metadata := map[string]json.RawMessage{"labels": json.RawMessage(`{}`)}
	if spec["podLabels"] != nil {
		metadata["labels"] = spec["podLabels"]
	}
	if spec["podAnnotations"] != nil {
		metadata["annotations"] = spec["podAnnotations"]
	}
	deployment := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"a": "b"}},
		"template": map[string]any{"metadata": metadata, "spec": template},
	}
	for _, name := range []string{"replicas", "strategy", "minReadySeconds", "progressDeadlineSeconds", "revisionHistoryLimit", "paused"} {
		if spec[name] != nil {
			deployment[name] = spec[name]
		}
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "d"}, "spec": deployment,
	})
	if err != nil {
		t.Fatal(err)
	}
	return decodedObject(t, merged(t, string(raw), `{"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}`))
}

func testNamesOnPlane(t *testing.T, c *cluster) {
	for gk, limit := range map[schema.GroupKind]int{webApp: 59, podSet: 52} {
		for _, version := range versions {
			create := func(name string) error {
				return c.create(t, gk, version, named(t, base(t, gk.WithVersion(version)), name), true)
			}
			if err := errors.Join(create(long(limit)), create("1web")); err != nil {
				t.Errorf("%s %s: %v", gk.Kind, version, err)
			}
			if err := create(long(limit + 1)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("metadata.name must be at most %d", limit)) {
				t.Errorf("%s %s: got %v", gk.Kind, version, err)
			}
			if err := create("my.app"); err == nil || !strings.Contains(err.Error(), "metadata.name must be a DNS label") {
				t.Errorf("%s %s: got %v", gk.Kind, version, err)
			}
		}
	}
}

// full is a v1 WebApp with much that v1alpha1 does not show.
const full = `{"spec": {"env": [{"name": "Z", "value": "1"}, {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "A", "value": "2"}],
	"volumes": [{"name": "data", "emptyDir": {}}], "volumeMounts": [{"name": "data", "mountPath": "/data"}], "ingress": {"host": "h.example.com"},
	"resources": {"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}}, "terminationGracePeriodSeconds": 5}}`

// testReplace covers A-10.
func testReplace(t *testing.T, c *cluster) {
	before := c.created(t, webApp, "v1", "replaced", full)
	old := c.get(t, webApp, "v1alpha1", "replaced")
	fromGit := decodedObject(t, named(t, base(t, webApp.WithVersion("v1alpha1"), `{"spec": {"image": {"tag": "2"}, "resources": {"cpu": "1000m"}, "env": {"A": "2", "Z": "1"}}}`), "replaced"))
	fromGit.SetResourceVersion(old.GetResourceVersion())
	if _, err := c.of(webApp, "v1alpha1").Update(t.Context(), fromGit, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	after := c.get(t, webApp, "v1", "replaced")
	if err := unstructured.SetNestedField(before.Object, "web:2", "spec", "image"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	if after.GetGeneration() != before.GetGeneration()+1 {
		t.Errorf("generation went from %d to %d", before.GetGeneration(), after.GetGeneration())
	}
}

// testKeptEdited covers A-11.
func testKeptEdited(t *testing.T, c *cluster) {
	before := c.created(t, webApp, "v1", "edited", full)
	for _, kept := range []string{`"{}"`, `"garbage {"`, `"{\"terminationGracePeriodSeconds\": -5}"`, `null`} {
		if err := c.patch(t, webApp, "v1alpha1", "edited", `{"metadata": {"annotations": {"workload.example.com/v1-fields": `+kept+`}}}`); err != nil {
			t.Errorf("%s: %v", kept, err)
		}
		after := c.get(t, webApp, "v1", "edited")
		if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" {
			t.Errorf("%s: spec (-want +got):\n%s", kept, diff)
		}
		if _, there := after.GetAnnotations()[workloadv1.AnnotationV1Fields]; there {
			t.Errorf("%s: the annotation is on the v1 object", kept)
		}
	}
}

// testBackup covers A-12.
func testBackup(t *testing.T, c *cluster) {
	before := c.created(t, webApp, "v1", "saved", full)
	view := c.get(t, webApp, "v1alpha1", "saved")
	if err := c.of(webApp, "v1").Delete(t.Context(), "saved", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	view.SetResourceVersion("")
	view.SetUID("")
	if _, err := c.of(webApp, "v1alpha1").Create(t.Context(), view, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["spec"], c.get(t, webApp, "v1", "saved").Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// testSmuggling covers A-13.
func testSmuggling(t *testing.T, c *cluster) {
	const kept, parked = workloadv1.AnnotationV1Fields, workloadv1.AnnotationUnconvertible
	for _, test := range []struct{ annotation, value, field string }{
		{kept, `{"terminationGracePeriodSeconds": -5}`, "spec.terminationGracePeriodSeconds"},
		{kept, `{"volumes": [{"name": "a"}]}`, "spec.volumes[0]"},
		{kept, `{"volumes": "junk"}`, "spec.volumes"},
		{kept, `{"volumes": [{"name": "a", "hostPath": {"path": "/"}}], "x":1}`, "spec.volumes[0]"},
		{kept, `{"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]}`, "spec.volumes[1]"},
		{kept, `{"volumeMounts": [{"name": "a", "mountPath": "/a"}]}`, "spec.volumeMounts"},
		{kept, `{"podLabels": {"podset-name": "x"}}`, "spec.podLabels"},
		{kept, `{"serviceAccountName": "No_Name"}`, "spec.serviceAccountName"},
		{kept, `{"tolerations": [{"key": "a b", "operator": "Exists"}]}`, "spec.tolerations[0].key"},
		{parked, `{"v1": {"spec": {"env": "junk"}}}`, "spec.env"},
	} {
		for gk := range resources {
			text, err := json.Marshal(test.value)
			if err != nil {
				t.Fatal(err)
			}
			object := base(t, gk.WithVersion("v1alpha1"), `{"metadata": {"annotations": {"`+test.annotation+`": `+string(text)+`}}}`)
			refusal := c.create(t, gk, "v1alpha1", object, true)
			for _, path := range causes(t, refusal) {
				if path != "metadata.annotations["+test.annotation+"]" {
					t.Errorf("%s %s: refused at %s", gk.Kind, test.value, path)
				}
			}
			if !strings.Contains(refusal.Error(), test.field+" in "+gk.Group+"/v1") {
				t.Errorf("%s %s: the message does not name %s: %v", gk.Kind, test.value, test.field, refusal)
			}
		}
	}
}

// testUnreadable: a value of the wrong type in v1alpha1 is refused and not replaced by a default, whatever else a request does. An
// annotation that claims one opens no way around promise 2.
func testUnreadable(t *testing.T, c *cluster) {
	junk := base(t, webApp.WithVersion("v1alpha1"), `{"spec": {"expose": "web:1"}}`)
	if fields := causes(t, c.create(t, webApp, "v1alpha1", junk, true)); !slices.Equal(fields, []string{"spec.expose"}) {
		t.Errorf("create: refused at %v", fields)
	}
	before := c.created(t, webApp, "v1", "readable", full)
	replaced := decodedObject(t, named(t, junk, "readable"))
	replaced.SetResourceVersion(before.GetResourceVersion())
	_, err := c.of(webApp, "v1alpha1").Update(t.Context(), replaced, metav1.UpdateOptions{})
	if fields := causes(t, err); !slices.Equal(fields, []string{"spec.expose"}) {
		t.Errorf("replace: refused at %v", fields)
	}
	claim := `{"metadata": {"annotations": {"workload.example.com/v1-fields": "{}", "workload.example.com/unconvertible": "{\"v1alpha1\":{\"spec\":{\"expose\":\"web:1\"}}}"}}}`
	if err := c.patch(t, webApp, "v1alpha1", "readable", claim); err != nil && !apierrors.IsInvalid(err) {
		t.Error(err)
	}
	if diff := cmp.Diff(before.Object["spec"], c.get(t, webApp, "v1", "readable").Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

// testRatchetOnPlane covers for objects that were stored before a rule existed.
func testRatchetOnPlane(t *testing.T, c *cluster) {
	replicas := map[schema.GroupVersionKind]string{
		webApp.WithVersion("v1"): `{"spec": {"replicas": 3}}`, webApp.WithVersion("v1alpha1"): `{"spec": {"scale": {"instances": 4}}}`,
		podSet.WithVersion("v1"): `{"spec": {"replicas": 3}}`, podSet.WithVersion("v1alpha1"): `{"spec": {"size": 4}}`,
	}
	for gvk, change := range replicas {
		gk, name := gvk.GroupKind(), "legacy-"+gvk.Version
		stored := c.get(t, gk, gvk.Version, name)
		for reason, patch := range map[string]string{
			"no-op":     `{}`,
			"migration": `{"metadata": {"resourceVersion": "` + stored.GetResourceVersion() + `"}}`,
			"label":     `{"metadata": {"labels": {"a": "b"}}}`,
			"replicas":  change,
		} {
			if reason == "migration" {
				patch = `{"metadata": {"resourceVersion": "` + c.get(t, gk, gvk.Version, name).GetResourceVersion() + `"}}`
			}
			if err := c.patch(t, gk, gvk.Version, name, patch); err != nil {
				t.Errorf("%s %s: %v", gvk, reason, err)
			}
		}
	}
	for gk := range resources {
		err := c.patch(t, gk, "v1", "legacy-v1", `{"spec": {"volumeMounts": [{"name": "gone", "mountPath": "/gone"}, {"name": "lost", "mountPath": "/lost"}]}}`)
		if fields := causes(t, err); !slices.Equal(fields, []string{"spec.volumeMounts"}) {
			t.Errorf("%s: got %v", gk.Kind, err)
		}
	}
}

// testFinalizers covers A-15.
func testFinalizers(t *testing.T, c *cluster) {
	for gk := range resources {
		for name, version := range map[string]string{"legacy-v1": "v1", "legacy-v1alpha1": "v1alpha1", long(61): "v1alpha1"} {
			if err := c.of(gk, version).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if err := c.patch(t, gk, version, name, `{"metadata": {"finalizers": null}}`); err != nil {
				t.Errorf("%s %s in %s: %v", gk.Kind, name, version, err)
			}
			if _, err := c.of(gk, version).Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("%s %s is still there: %v", gk.Kind, name, err)
			}
		}
	}
}

// testBudget covers A-17.
func testBudget(t *testing.T, c *cluster) {
	for gk := range resources {
		object := func(args int) []byte {
			patch := map[string]any{
				"metadata": map[string]any{"name": "budget", "annotations": map[string]any{"example.net/a": long(250 << 10)}},
				"spec":     map[string]any{"args": []string{noise(args)}, "terminationGracePeriodSeconds": 7},
			}
			if gk == podSet { // args are visible there
				patch["spec"] = map[string]any{"env": []any{map[string]any{"name": "B"}, map[string]any{"name": "A", "valueFrom": map[string]any{"secretKeyRef": map[string]any{"name": "s", "key": noise(args)[:min(args, 250)]}}}},
					"podAnnotations": map[string]any{"example.net/b": noise(args)}}
			}
			text, err := json.Marshal(patch)
			if err != nil {
				t.Fatal(err)
			}
			return base(t, gk.WithVersion("v1"), string(text))
		}
		err := c.create(t, gk, "v1", object(30<<10), false)
		if fields := causes(t, err); !slices.Equal(fields, []string{"metadata.annotations"}) {
			t.Errorf("%s: got %v", gk.Kind, err)
		}
		if text := err.Error(); !strings.Contains(text, "256013 bytes") || !strings.Contains(text, "262144") {
			t.Errorf("%s: the message does not name the sizes: %s", gk.Kind, text)
		}
		if err := c.create(t, gk, "v1", object(1<<10), false); err != nil {
			t.Fatal(err)
		}
		if size := len(c.get(t, gk, "v1alpha1", "budget").GetAnnotations()["example.net/a"]); size != 250<<10 {
			t.Errorf("%s: %d bytes of the annotation are left", gk.Kind, size)
		}
		// Never a trap: an object that fits may be changed, and what is over the limit may shrink.
		if err := c.patch(t, gk, "v1", "budget", `{"metadata": {"annotations": {"example.net/a": null}}}`); err != nil {
			t.Error(err)
		}
	}
}

// noise is text that does not compress.
func noise(length int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	random := rand.New(rand.NewPCG(1, 2))
	text := make([]byte, length)
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	return string(text)
}

// testWarningsOnPlane covers A-18 in v1alpha1; v1 needs no cluster. Every write there adds the deprecation.
func testWarningsOnPlane(t *testing.T, c *cluster) {
	tests := map[string]struct {
		kind   schema.GroupKind
		change string
		want   []string
	}{
		"no tag":      {webApp, `{"spec": {"image": {"tag": null}}}`, []string{`spec.image: "web" may mean another image tomorrow: set a tag other than latest, or a digest`}},
		"no requests": {webApp, `{"spec": {"resources": null}}`, []string{`spec.resources: without requests the scheduler may crowd a node: request cpu and memory`}},
		"no probe":    {webApp, `{"spec": {"healthCheck": null}}`, []string{`spec.healthCheck: without a probe a Pod counts as ready as soon as its process runs: add one`}},
		"PodSet, latest": {podSet, `{"spec": {"container": {"image": "web:latest"}}}`, []string{
			`spec.container.image: "web:latest" may mean another image tomorrow: set a tag other than latest, or a digest`,
			`spec.probes.readiness in batch.example.com/v1: without a probe a Pod counts as ready as soon as its process runs: add one`,
		}},
	}
	for name, test := range tests {
		c.warnings.take()
		if err := c.create(t, test.kind, "v1alpha1", base(t, test.kind.WithVersion("v1alpha1"), test.change), true); err != nil {
			t.Fatal(err)
		}
		deprecation := fmt.Sprintf("%s/v1alpha1 %s is deprecated; use %s/v1: workloadctl convert -f FILE --to %s/v1", test.kind.Group, test.kind.Kind, test.kind.Group, test.kind.Group)
		want := slices.Sorted(slices.Values(append([]string{deprecation}, test.want...)))
		if diff := cmp.Diff(want, c.warnings.take()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	c.created(t, webApp, "v1", "autoscaled", `{"spec": {"autoscaling": {"maxReplicas": 5}}}`)
	c.warnings.take()
	if err := c.patch(t, webApp, "v1alpha1", "autoscaled", `{"spec": {"scale": {"instances": 4}}}`); err != nil {
		t.Fatal(err)
	}
	const want = "spec.scale.instances: the autoscaler sets it, so this change will not last: change spec.scale.min and spec.scale.max"
	if got := c.warnings.take(); !slices.Contains(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// testDefaultsOnPlane covers A-19.
func testDefaultsOnPlane(t *testing.T, c *cluster) {
	c.created(t, webApp, "v1alpha1", "defaulted", `{"spec": {"healthCheck": {"path": "/x"}, "expose": {"port": 80, "targetPort": 9000}}}`)
	port := func() any {
		value, _, _ := unstructured.NestedFieldNoCopy(c.get(t, webApp, "v1", "defaulted").Object, "spec", "probes", "readiness", "httpGet", "port")
		return value
	}
	if port() != int64(9000) {
		t.Errorf("the port is %v, want 9000", port())
	}
	before := c.get(t, webApp, "v1", "defaulted")
	if err := c.patch(t, webApp, "v1alpha1", "defaulted", `{"metadata": {"labels": {"a": "b"}}}`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before.Object["spec"], c.get(t, webApp, "v1", "defaulted").Object["spec"]); diff != "" {
		t.Errorf("a second time: spec (-want +got):\n%s", diff)
	}
	c.created(t, webApp, "v1alpha1", "defaulted-port", `{"spec": {"expose": {"port": 81}}}`)
	spec, _ := c.get(t, webApp, "v1", "defaulted-port").Object["spec"].(map[string]any)
	if _, set := spec["targetPort"]; set {
		t.Error("targetPort was set")
	}
	c.created(t, webApp, "v1", "planted", `{"metadata": {"annotations": {"workload.example.com/v1-fields": "{\"args\": [\"a\"]}"}}}`)
	if annotations := c.get(t, webApp, "v1", "planted").GetAnnotations(); len(annotations) > 0 {
		t.Errorf("annotations are %v", annotations)
	}
}

// testTwoManagers covers A-20.
func testTwoManagers(t *testing.T, c *cluster) {
	apply := func(manager, version, spec string) {
		t.Helper()
		text := fmt.Sprintf(`{"apiVersion": "app.example.com/%s", "kind": "WebApp", "metadata": {"name": "shared"}, "spec": %s}`, version, spec)
		if _, err := c.of(webApp, version).Apply(t.Context(), "shared", decodedObject(t, []byte(text)), metav1.ApplyOptions{FieldManager: manager}); err != nil {
			t.Fatalf("%s: %v", manager, err)
		}
	}
	check := func(replicas int64) {
		t.Helper()
		object := c.get(t, webApp, "v1", "shared").Object
		got, _, _ := unstructured.NestedInt64(object, "spec", "replicas")
		host, _, _ := unstructured.NestedString(object, "spec", "ingress", "host")
		if got != replicas || host != "h" {
			t.Errorf("replicas %d and host %q, want %d and h", got, host, replicas)
		}
	}
	const image = `"image": {"repository": "web", "tag": "1"}`
	apply("a", "v1alpha1", `{`+image+`, "scale": {"instances": 2}}`)
	apply("b", "v1", `{"ingress": {"host": "h"}}`)
	apply("a", "v1alpha1", `{`+image+`, "scale": {"instances": 3}}`)
	check(3)
	apply("a", "v1alpha1", `{`+image+`}`)
	check(1)
}

// testScale covers A-21.
func testScale(t *testing.T, c *cluster) {
	for gk := range resources {
		c.created(t, gk, "v1", "scaled", `{"spec": {"terminationGracePeriodSeconds": 7}}`)
		before := c.get(t, gk, "v1", "scaled")
		for i, version := range versions {
			if err := c.patch(t, gk, version, "scaled", fmt.Sprintf(`{"spec": {"replicas": %d}}`, 4+i), "scale"); err != nil {
				t.Errorf("%s %s: %v", gk.Kind, version, err)
			}
			after := c.get(t, gk, "v1", "scaled")
			if err := unstructured.SetNestedField(before.Object, int64(4+i), "spec", "replicas"); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{before.Object["spec"], before.Object["status"]}, []any{after.Object["spec"], after.Object["status"]}); diff != "" {
				t.Errorf("%s %s: (-want +got):\n%s", gk.Kind, version, diff)
			}
			refused := []int{0, 11}
			if gk == podSet {
				refused = refused[:1]
			}
			for _, replicas := range refused {
				if err := c.patch(t, gk, version, "scaled", fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas), "scale"); !apierrors.IsInvalid(err) {
					t.Errorf("%s %s to %d: got %v", gk.Kind, version, replicas, err)
				}
			}
		}
	}
}

// testStatus covers A-22.
func testStatus(t *testing.T, c *cluster) {
	c.created(t, webApp, "v1", "status", full)
	if err := c.patch(t, webApp, "v1", "status", `{"status": {"selector": "a=b", "url": "http://x", "conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"}]}}`, "status"); err != nil {
		t.Fatal(err)
	}
	before := c.get(t, webApp, "v1", "status")
	if err := c.patch(t, webApp, "v1alpha1", "status", `{"status": {"available": 1}}`, "status"); err != nil {
		t.Fatal(err)
	}
	after := c.get(t, webApp, "v1", "status")
	if diff := cmp.Diff(before.Object["spec"], after.Object["spec"]); diff != "" || before.GetGeneration() != after.GetGeneration() {
		t.Errorf("generation %d to %d, spec (-want +got):\n%s", before.GetGeneration(), after.GetGeneration(), diff)
	}
	if err := c.patch(t, webApp, "v1alpha1", "status", `{"spec": {"scale": {"instances": 5}}}`); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(after.Object["status"], c.get(t, webApp, "v1", "status").Object["status"]); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// testDryRun covers A-24: the same answers, and nothing stored.
func testDryRun(t *testing.T, c *cluster) {
	for gk := range resources {
		for _, version := range versions {
			object := named(t, base(t, gk.WithVersion(version)), "dry")
			c.warnings.take()
			if err := c.create(t, gk, version, object, true); err != nil {
				t.Error(err)
			}
			dry := c.warnings.take()
			if _, err := c.of(gk, version).Get(t.Context(), "dry", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("stored: %v", err)
			}
			c.warnings.take()
			if err := c.create(t, gk, version, object, false); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.warnings.take(), dry); diff != "" {
				t.Errorf("warnings (-real +dry):\n%s", diff)
			}
			if err := c.of(gk, version).Delete(t.Context(), "dry", metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
	}
}

// testCalls proves that matchConditions keep the API server from calling us where there is nothing to do.
func testCalls(t *testing.T, c *cluster) {
	tests := []struct {
		reason, version, patch string
		want                   []string // the webhooks that are called, at least once: the API server tries again after a conflict
	}{
		{"no change", "v1", `{}`, nil},
		{"label in v1", "v1", `{"metadata": {"labels": {"a": "1"}}}`, nil},
		{"label in v1alpha1", "v1alpha1", `{"metadata": {"labels": {"a": "2"}}}`, nil},
		{"spec in v1", "v1", `{"spec": {"replicas": 5}}`, []string{"validate-webapp"}},
		{"readiness without a port in v1", "v1", `{"spec": {"probes": {"readiness": {"httpGet": {"port": null}}}}}`, []string{"mutate-webapp", "validate-webapp"}},
		{"spec in v1alpha1", "v1alpha1", `{"spec": {"scale": {"instances": 6}}}`, []string{"mutate-webapp", "validate-webapp"}},
		{"finalizer", "v1alpha1", `{"metadata": {"finalizers": ["` + hold + `"]}}`, nil},
		{"delete", "v1", "", nil},
		{"spec of what is being deleted", "v1", `{"spec": {"replicas": 7}}`, nil},
		{"its finalizer", "v1alpha1", `{"metadata": {"finalizers": null}}`, nil},
	}
	c.created(t, webApp, "v1", "called", full)
	for _, test := range tests {
		durations.Reset()
		err := error(nil)
		if test.reason == "delete" {
			err = c.of(webApp, "v1").Delete(t.Context(), "called", metav1.DeleteOptions{})
		} else {
			err = c.patch(t, webApp, test.version, "called", test.patch)
		}
		if err != nil {
			t.Errorf("%s: %v", test.reason, err)
		}
		if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(calls(t)))); diff != "" {
			t.Errorf("%s: calls (-want +got):\n%s", test.reason, diff)
		}
	}
}

// needsWebhook are the bad specs that neither schema nor CEL can refuse.
var needsWebhook = map[string]bool{"A-04 image": true, "port": true}

// testWebhooksDown covers A-23. It comes last.
func testWebhooksDown(t *testing.T, c *cluster) {
	c.created(t, webApp, "v1", "survivor", full)
	c.server.CloseClientConnections()
	c.server.Close()
	for gk := range resources {
		for _, sample := range append(badSpecs[gk.WithVersion("v1")], sample{reason: "A-23 strategy", spec: `{"strategy": {"type": "Sideways"}}`}) {
			if gk == podSet && sample.reason == "A-23 strategy" {
				continue // a field of WebApps
			}
			err := c.create(t, gk, "v1", base(t, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`), true)
			if refused := apierrors.IsInvalid(err); refused == needsWebhook[sample.reason] {
				t.Errorf("%s %s: got %v", gk.Kind, sample.reason, err)
			}
		}
	}
	if err := c.create(t, webApp, "v1alpha1", named(t, base(t, webApp.WithVersion("v1alpha1")), "late"), false); err == nil {
		t.Error("a v1alpha1 object was stored")
	}
	// v1 goes on: reads, good writes, deletes.
	c.get(t, webApp, "v1", "survivor")
	if err := c.patch(t, webApp, "v1", "survivor", `{"spec": {"replicas": 5}}`); err != nil {
		t.Error(err)
	}
	if err := c.create(t, webApp, "v1", named(t, base(t, webApp.WithVersion("v1")), "meanwhile"), false); err != nil {
		t.Error(err)
	}
	c.startWebhooks(t)
	// The certificate of the new server is the same: the API server needs no other authority.
	eventually(t, func() error {
		_, err := c.of(webApp, "v1alpha1").Patch(t.Context(), "survivor", types.MergePatchType, []byte(`{"spec": {"scale": {"instances": 6}}}`), metav1.PatchOptions{})
		return err
	})
	object := c.get(t, webApp, "v1", "survivor").Object
	if seconds, _, _ := unstructured.NestedInt64(object, "spec", "terminationGracePeriodSeconds"); seconds != 5 {
		t.Errorf("terminationGracePeriodSeconds is %d, want 5", seconds)
	}
}

// created stores an object and returns it as v1 has it.
func (c *cluster) created(t *testing.T, gk schema.GroupKind, version, name, change string) *unstructured.Unstructured {
	t.Helper()
	if err := c.create(t, gk, version, named(t, base(t, gk.WithVersion(version), change), name), false); err != nil {
		t.Fatal(err)
	}
	return c.get(t, gk, "v1", name)
}
