package ownership

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
)

func definition(t testing.TB, kind string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range crds {
		if crd.Spec.Names.Kind == kind {
			return crd
		}
	}
	t.Fatalf("no definition of %s", kind)
	return nil
}

func object(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	text = strings.ReplaceAll(text, "\t", "  ")
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func entry(manager string, operation metav1.ManagedFieldsOperationType, apiVersion, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: apiVersion, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// paths of an entry, a line each.
func pathsOf(e metav1.ManagedFieldsEntry) []string {
	var paths []string
	for path := range setOf(e).All() {
		paths = append(paths, path.String())
	}
	return paths
}

const (
	apply  = metav1.ManagedFieldsOperationApply
	update = metav1.ManagedFieldsOperationUpdate

	webV1    = "app.example.com/v1"
	webAlpha = "app.example.com/v1alpha1"
	podV1    = "batch.example.com/v1"
	podAlpha = "batch.example.com/v1alpha1"
)

const webApp = `
apiVersion: app.example.com/v1
kind: WebApp
metadata: {name: web, labels: {team: blue}, annotations: {note: x}}
spec:
	image: reg:5000/web:1.25
	replicas: 3
	port: 80
	targetPort: 8080
	args: [-v]
	env: [{name: A, value: "1"}, {name: S, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: B, value: "2"}]
	resources: {requests: {cpu: 250m, memory: 64Mi}, limits: {memory: 1Gi}}
	probes: {readiness: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 10}}
	automountServiceAccountToken: true
	autoscaling: {minReplicas: 2, maxReplicas: 4, targetCPUUtilizationPercentage: 80}
status: {phase: Running, availableReplicas: 3, observedGeneration: 4}`

const podSet = `
apiVersion: batch.example.com/v1
kind: PodSet
metadata: {name: import, annotations: {batch.example.com/description: nightly}}
spec:
	image: web:1.25
	replicas: 3
	env: [{name: A, value: "1"}]
	resources: {limits: {cpu: "1"}}
	minReadySeconds: 30
	paused: true
	updateStrategy: {type: OnDelete, rollingUpdate: {maxUnavailable: 1}}
status: {readyReplicas: 2, podNames: [a, b]}`

// M-07: what a manager set in one version is its own in the other, and nothing else is.
func TestTranslate(t *testing.T) {
	tests := map[string]struct {
		reason string
		object string
		target string
		from   string
		fields string
		want   []string
	}{
		"Renamed": {
			"plain renames, and what has the same name", webApp, "v1", webAlpha,
			`{"f:metadata":{"f:labels":{".":{},"f:team":{}}},"f:spec":{"f:scale":{"f:instances":{}},"f:expose":{".":{},"f:port":{},"f:targetPort":{}}}}`,
			[]string{".metadata.labels.team", ".spec.replicas", ".spec.port", ".spec.targetPort"},
		},
		"Whole": {
			"a struct that becomes a string", webApp, "v1", webAlpha,
			`{"f:spec":{"f:image":{"f:repository":{},"f:tag":{}}}}`, []string{".spec.image"},
		},
		"Part": {
			"who set a part of a value has a share in the whole", webApp, "v1", webAlpha,
			`{"f:spec":{"f:image":{"f:tag":{}}}}`, []string{".spec.image"},
		},
		"ListFromMap": {
			"entries of a map are entries of the list, one by one", webApp, "v1", webAlpha,
			`{"f:spec":{"f:env":{"f:B":{}}}}`,
			[]string{`.spec.env[name="B"]`, `.spec.env[name="B"].name`, `.spec.env[name="B"].value`},
		},
		"Reshaped": {
			"percent, duration and negation", webApp, "v1", webAlpha,
			`{"f:spec":{"f:scale":{"f:targetCPU":{}},"f:healthCheck":{"f:interval":{}},"f:disableTokenMount":{}}}`,
			[]string{".spec.automountServiceAccountToken", ".spec.autoscaling.targetCPUUtilizationPercentage", ".spec.probes.readiness.periodSeconds"},
		},
		"NotHidden": {
			"the limits were not this manager's, though they are in the same struct", webApp, "v1", webAlpha,
			`{"f:spec":{"f:resources":{"f:cpu":{}}}}`, []string{".spec.resources.requests.cpu"},
		},
		"HiddenByAnnotation": {
			"who set the annotation set all that is in it", webApp, "v1", webAlpha,
			`{"f:metadata":{"f:annotations":{"f:workload.example.com/v1-fields":{}}}}`,
			[]string{".spec.args", `.spec.env[name="S"]`, `.spec.env[name="S"].name`, ".spec.env[name=\"S\"].valueFrom.secretKeyRef"},
		},
		"Status": {
			"status subresource", webApp, "v1", webAlpha,
			`{"f:status":{"f:state":{},"f:available":{},"f:observedGeneration":{}}}`,
			[]string{".status.phase", ".status.availableReplicas", ".status.observedGeneration"},
		},
		"Gone": {
			"fields that the object does not have any more are nobody's", webApp, "v1", webAlpha,
			`{"f:spec":{"f:expose":{"f:port":{}},"f:env":{"f:Z":{}}},"f:metadata":{"f:labels":{"f:gone":{}}}}`, []string{".spec.port"},
		},
		"Back": {
			"v1 to v1alpha1, a string that is taken apart", webAppAlpha, "v1alpha1", webV1,
			`{"f:spec":{"f:image":{},"f:replicas":{}}}`, []string{".spec.image.repository", ".spec.image.tag", ".spec.scale.instances"},
		},
		"BackHidden": {
			"v1 to v1alpha1, a field that only the annotation can hold", webAppAlpha, "v1alpha1", webV1,
			`{"f:spec":{"f:args":{}}}`, []string{".metadata.annotations.workload.example.com/v1-fields"},
		},
		"PodSet": {
			"the other kind", podSet, "v1", podAlpha,
			`{"f:spec":{"f:size":{},"f:container":{"f:image":{},"f:env":{"f:A":{}},"f:resources":{"f:limits":{"f:cpu":{}}}},"f:hold":{},"f:updatePolicy":{},"f:readyAfter":{}}}`,
			[]string{
				".spec.replicas", ".spec.image", `.spec.env[name="A"]`, `.spec.env[name="A"].name`, `.spec.env[name="A"].value`, ".spec.resources.limits.cpu", ".spec.paused",
				".spec.updateStrategy.type", ".spec.minReadySeconds",
			},
		},
		"FieldToAnnotation": {
			"a field that is an annotation", podSet, "v1", podAlpha,
			`{"f:spec":{"f:description":{}}}`, []string{`.metadata.annotations.batch.example.com/description`},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o := object(t, tc.object)
			translator, err := NewTranslator(definition(t, o.GetKind()), tc.target)
			if err != nil {
				t.Fatal(err)
			}
			o.SetManagedFields([]metav1.ManagedFieldsEntry{entry("kubectl", apply, tc.from, tc.fields)})
			got := translator.Translate(o)
			if len(got) != 1 || got[0].APIVersion != translator.target || got[0].Manager != "kubectl" || got[0].Operation != apply {
				t.Fatalf("%s: %+v", tc.reason, got)
			}
			paths := pathsOf(got[0])
			slices.Sort(paths)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, paths); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

const webAppAlpha = `
apiVersion: app.example.com/v1alpha1
kind: WebApp
metadata: {name: web, annotations: {workload.example.com/v1-fields: '{"args":["-v"]}'}}
spec:
	image: {repository: web, tag: "1"}
	scale: {instances: 3}`

// Entries of one manager that differ only in the version become one; others stay as they are.
func TestTranslateJoins(t *testing.T) {
	o := object(t, webApp)
	translator, err := NewTranslator(definition(t, "WebApp"), "v1")
	if err != nil {
		t.Fatal(err)
	}
	status := entry("operator", update, webAlpha, `{"f:status":{"f:state":{}}}`)
	status.Subresource = "status"
	o.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("edit", update, webAlpha, `{"f:spec":{"f:scale":{"f:instances":{}}}}`),
		entry("edit", update, webV1, `{"f:spec":{"f:port":{}}}`),
		entry("flux", apply, webV1, `{"f:spec":{"f:args":{}}}`),
		entry("none", update, webAlpha, `{"f:spec":{"f:env":{"f:Z":{}}}}`),
		entry("old", update, "app.example.com/v1alpha0", `{"f:spec":{"f:port":{}},"f:metadata":{"f:labels":{"f:team":{}}}}`),
		status,
	})
	var got []string
	for _, e := range translator.Translate(o) {
		got = append(got, strings.Join(append([]string{e.Manager, string(e.Operation), e.APIVersion, e.Subresource}, pathsOf(e)...), " "))
	}
	want := []string{
		"flux Apply app.example.com/v1  .spec.args",
		"edit Update app.example.com/v1  .spec.port .spec.replicas",
		"old Update app.example.com/v1  .metadata.labels.team",
		"operator Update app.example.com/v1 status .status.phase",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}

// An object without any entry left makes the API server begin anew.
func TestTranslateNothing(t *testing.T) {
	o := object(t, webApp)
	translator, err := NewTranslator(definition(t, "WebApp"), "v1")
	if err != nil {
		t.Fatal(err)
	}
	o.SetManagedFields([]metav1.ManagedFieldsEntry{entry("none", update, webAlpha, `{"f:spec":{"f:env":{"f:Z":{}}}}`)})
	if diff := cmp.Diff([]metav1.ManagedFieldsEntry{{}}, translator.Translate(o)); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if Foreign(nil, webV1) || Foreign([]metav1.ManagedFieldsEntry{{APIVersion: webV1}}, webV1) || !Foreign(o.GetManagedFields(), webV1) {
		t.Error("Foreign is wrong")
	}
}

// Everything that one manager owns in a version, it owns after the way there and back.
func TestThereAndBack(t *testing.T) {
	there, err := NewTranslator(definition(t, "WebApp"), "v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	back, err := NewTranslator(definition(t, "WebApp"), "v1")
	if err != nil {
		t.Fatal(err)
	}
	v1 := object(t, webApp)
	all, err := back.paths(v1)
	if err != nil {
		t.Fatal(err)
	}
	v1.SetManagedFields([]metav1.ManagedFieldsEntry{withFields(entry("kubectl", apply, webV1, `{}`), webV1, all)})
	v1alpha1, err := convert(v1, webAlpha)
	if err != nil {
		t.Fatal(err)
	}
	v1alpha1.SetManagedFields(v1.GetManagedFields())
	v1.SetManagedFields(there.Translate(v1alpha1))
	got := setOf(back.Translate(v1)[0])
	if lost, won := all.Difference(got), got.Difference(all); !lost.Empty() || !won.Empty() {
		t.Errorf("lost %s, won %s", lost, won)
	}
}
