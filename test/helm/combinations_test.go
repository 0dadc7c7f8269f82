package helm

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/test/manifests"
)

// choice is a value of the chart, or a few that belong together, with what it may be. Each is YAML.
type choice struct {
	name    string
	options []string
}

var choices = []choice{
	{"crds", []string{"{}", "{step: R2}", "{step: R4}", "{step: R5}"}},
	{"certificates", []string{
		"{}", "{mode: self-managed, lifetime: 48h, authorityLifetime: 1000h, authorityOverlap: 2m}", "{mode: cert-manager, lifetime: 48h, authorityLifetime: 1000h}",
		"{mode: cert-manager, issuerRef: {name: house, kind: ClusterIssuer}}", "{mode: provided, secretName: mine}",
	}},
	{"replicas", []string{"2", "1", "0"}},
	{"image", []string{"{}", "{repository: 'registry.example:5000/op', tag: v9, pullPolicy: Always}", "{digest: 'sha256:" + strings.Repeat("0123456789abcdef", 4) + "'}"}},
	{"webhook", []string{"{}", "{failurePolicy: Fail}"}},
	{"autoMigrate", []string{"true", "false"}},
	{"kubeAPI", []string{"{}", "{qps: 0.5, burst: 1}", "{qps: 1000000, burst: 1000000}"}},
	{"logLevel", []string{"''", "debug", "3"}},
	{"extraArgs", []string{"[]", "[--concurrency=8, '--zap-encoder=json']"}},
	{"resources", []string{"{}", "null", "{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 2, memory: 2Gi}}"}},
	{"imagePullSecrets", []string{"[]", "[{name: registry}]"}},
	{"priorityClassName", []string{"''", "system-cluster-critical"}},
	{"nodeSelector", []string{"{}", "{kubernetes.io/os: linux}"}},
	{"tolerations", []string{"[]", "[{key: infra, operator: Exists}]"}},
	{"affinity", []string{"{}", "{nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: infra, operator: Exists}]}]}}}"}},
	{"topologySpread", []string{"{}", "{keys: []}", "{keys: [example.com/rack], whenUnsatisfiable: DoNotSchedule}"}},
	{"networkPolicy", []string{"{}", "{enabled: false}"}},
	{"podDisruptionBudget", []string{"{}", "{enabled: false}"}},
	{"monitoring", []string{"{}", "{serviceMonitor: {enabled: true}, prometheusRule: {enabled: true}}", "{serviceMonitor: {enabled: true, labels: {release: a}}, prometheusRule: {enabled: true, labels: {release: a}}}"}},
	{"uninstall", []string{"{}", "{hook: false}"}},
	{"exceptNamespaces", []string{"[]", "[team-a, team-b]"}},
	{"global", []string{"{}", "{image: {tag: v9}}"}},
	{"enabled", []string{"true", "false"}},
}

// settings are the values of a release by name.
type settings map[string]string

// operators are the combinations of a release that is no shard.
func operators() []settings {
	var all []settings
	for _, row := range combinations(choices) {
		one := settings{}
		for i, c := range choices {
			one[c.name] = c.options[row[i]]
		}
		all = append(all, one)
	}
	return all
}

// shards have every option once, also of what a shard ignores. They are no option among others: what is not rendered for a shard would
// then count as seen.
func shards() []settings {
	var all []settings
	for i := range slices.MaxFunc(choices, func(a, b choice) int { return len(a.options) - len(b.options) }).options {
		one := settings{}
		for _, c := range choices {
			one[c.name] = c.options[i%len(c.options)]
		}
		one["shard"], one["exceptNamespaces"] = "{name: a, namespaces: [team-a, team-b]}", "[]"
		all = append(all, one)
	}
	return all
}

// releases are where a combination is rendered, in turn: a name that is a number, one that has to be cut, the default one.
var releases = []string{"1", strings.Repeat("x", 53), "workload-operator"}

// pair is two options that some combination must have.
type pair struct{ first, option, second, other int }

// combinations have every two options of different values together at least once. A combination is the option of each value.
func combinations(values []choice) [][]int {
	missing := map[pair]bool{}
	for i := range values {
		for j := i + 1; j < len(values); j++ {
			for a := range values[i].options {
				for b := range values[j].options {
					missing[pair{i, a, j, b}] = true
				}
			}
		}
	}
	covered := func(row []int, upTo int) (new int) {
		for i := range upTo {
			if missing[pair{i, row[i], upTo, row[upTo]}] {
				new++
			}
		}
		return new
	}
	var rows [][]int
	for len(missing) > 0 {
		row := make([]int, len(values))
		for i := range values {
			best, most := 0, -1
			for a := range values[i].options {
				// By turns where none is better, so that no option waits for the last rows.
				row[i] = (a + len(rows)) % len(values[i].options)
				if n := covered(row, i); n > most {
					best, most = row[i], n
				}
			}
			row[i] = best
		}
		// A row that covers nothing new would never end it: take a pair that is missing.
		if !removes(missing, row) {
			for _, p := range first(missing) {
				row[p.first], row[p.second] = p.option, p.other
			}
			removes(missing, row)
		}
		rows = append(rows, row)
	}
	return rows
}

// first is the least of the missing pairs.
func first(missing map[pair]bool) []pair {
	var all []pair
	for p := range missing {
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b pair) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return all[:1]
}

func removes(missing map[pair]bool, row []int) bool {
	before := len(missing)
	for i := range row {
		for j := i + 1; j < len(row); j++ {
			delete(missing, pair{i, row[i], j, row[j]})
		}
	}
	return len(missing) < before
}

func TestCombinationsHaveAllPairs(t *testing.T) {
	rows := combinations(choices)
	seen := map[pair]bool{}
	for _, row := range rows {
		for i := range row {
			for j := i + 1; j < len(row); j++ {
				seen[pair{i, row[i], j, row[j]}] = true
			}
		}
	}
	want := 0
	for i := range choices {
		for j := i + 1; j < len(choices); j++ {
			want += len(choices[i].options) * len(choices[j].options)
		}
	}
	if len(seen) != want || len(rows) > 30 {
		t.Errorf("%d pairs in %d combinations, want %d in at most 30", len(seen), len(rows), want)
	}
}

// Every value of the chart takes part in the matrix.
func TestChoicesAreComplete(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(shippedChart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	for name := range shards()[0] {
		delete(schema.Properties, name)
	}
	for name := range schema.Properties {
		t.Errorf("value %s is in no combination", name)
	}
}

// O-08: whatever the values are, the API server accepts every object, and Pod Security every Pod at the level restricted. A field that it
// does not know is an error.
func TestMatrix(t *testing.T) {
	s := attach(t)
	const namespace = "matrix"
	s.namespace(t, namespace)
	s.foreignKinds(t)
	s.forget(t) // what other tests leave would be judged together with what is applied
	accepted := map[string]bool{}
	for i, values := range append(operators(), shards()...) {
		out, data, err := s.render(t, releases[i%len(releases)], namespace, values)
		if err != nil {
			t.Errorf("%v\nvalues:\n%s", err, data)
			continue
		}
		for _, object := range manifests.Decode(t, []byte(out)) {
			for _, object := range append([]*unstructured.Unstructured{object}, podsOf(t, object)...) {
				if err := s.accepts(t, object, accepted); err != nil {
					t.Errorf("%s: %v\nvalues:\n%s", manifests.ID(object), err, data)
				}
			}
		}
	}
	t.Logf("%d different objects", len(accepted))
}

// render returns what helm template prints, and the file of values that it was given.
func (s *site) render(t *testing.T, release, namespace string, from settings) (out string, data []byte, err error) {
	t.Helper()
	values := map[string]any{}
	for name, text := range from {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		values[name] = value
	}
	if data, err = yaml.Marshal(values); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err = s.run(t, "helm", "template", release, chartPath, "-n", namespace, "--values", file)
	return out, data, err
}

// accepts asks the API server, without anything being stored. The same object is asked for once.
func (s *site) accepts(t *testing.T, object *unstructured.Unstructured, accepted map[string]bool) error {
	compared := object
	if object.GetKind() == "CustomResourceDefinition" {
		// The API server takes long to judge one, and its names say nothing about the values.
		compared = object.DeepCopy()
		compared.SetLabels(nil)
		unstructured.RemoveNestedField(compared.Object, "spec", "conversion", "webhook", "clientConfig", "service", "name")
	}
	data, err := json.Marshal(compared)
	if err != nil || accepted[string(data)] {
		return err
	}
	err = s.dryRun(t, object)
	accepted[string(data)] = err == nil
	return err
}

// dryRun applies an object without storing it, strictly.
func (s *site) dryRun(t *testing.T, object *unstructured.Unstructured) error {
	data, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return s.client.Patch(t.Context(), object.DeepCopy(), client.RawPatch(types.ApplyPatchType, data),
		client.DryRunAll, client.ForceOwnership, client.FieldOwner("matrix"), client.FieldValidation(metav1.FieldValidationStrict))
}

// podsOf are the Pods that a Deployment or a Job makes.
func podsOf(t *testing.T, object *unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	if object.GetKind() != "Deployment" && object.GetKind() != "Job" {
		return nil
	}
	template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	pod.SetNamespace(object.GetNamespace())
	pod.SetName("one")
	// The ServiceAccount is not there in a dry run.
	unstructured.RemoveNestedField(pod.Object, "spec", "serviceAccountName")
	return []*unstructured.Unstructured{pod}
}
