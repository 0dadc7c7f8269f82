package webhooks

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/conversion"
)

// answer is what a writer gets to see.
type answer struct {
	Refused  bool
	Fields   []string
	Warnings []string

	// Mistakes are what the answer is under strict decoding, which comes before everything else.
	Mistakes []string
}

func offline(t testing.TB) *Offline {
	t.Helper()
	o, err := NewOffline(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// offlineAnswer is the answer without a cluster.
func offlineAnswer(t testing.TB, o *Offline, object []byte) answer {
	t.Helper()
	verdict, err := o.Admit(t.Context(), object, nil)
	if err != nil {
		t.Fatal(err)
	}
	var fields []string
	for _, err := range verdict.Errors {
		fields = append(fields, err.Field)
	}
	return answer{
		Refused: len(verdict.Errors) > 0, Fields: namedOnly(fields),
		Warnings: sorted(slices.Concat(verdict.Warnings, verdict.Mistakes)), Mistakes: sorted(verdict.Mistakes),
	}
}

// onlineAnswer is the answer of the API server to dry runs: one that only warns of what strict decoding refuses, and, if there is
// something to warn of, one that is strict.
func (c *cluster) onlineAnswer(t *testing.T, gvk schema.GroupVersionKind, object []byte) answer {
	t.Helper()
	got := c.lenientAnswer(t, gvk, object)
	if slices.ContainsFunc(got.Warnings, func(text string) bool { return strings.Contains(text, " field \"") }) {
		got.Mistakes = c.mistakes(t, gvk, object)
	}
	return got
}

// post is a dry run of a creation with the very bytes of an object.
func (c *cluster) post(t *testing.T, gvk schema.GroupVersionKind, object []byte, fieldValidation string) error {
	t.Helper()
	path := []string{"apis", gvk.Group, gvk.Version, "namespaces", namespace, resources[gvk.GroupKind()]}
	return c.rest.Post().AbsPath(path...).SetHeader("Content-Type", "application/json").Body(object).
		Param("dryRun", "All").Param("fieldManager", "test").Param("fieldValidation", fieldValidation).Do(t.Context()).Error()
}

// mistakes are what strict decoding refuses, none if it refuses nothing.
func (c *cluster) mistakes(t *testing.T, gvk schema.GroupVersionKind, object []byte) []string {
	t.Helper()
	err := c.post(t, gvk, object, metav1.FieldValidationStrict)
	c.warnings.take()
	if err == nil {
		return nil
	}
	_, list, strict := strings.Cut(err.Error(), "strict decoding error: ")
	if !strict {
		return nil
	}
	for _, word := range []string{"unknown", "duplicate"} {
		list = strings.ReplaceAll(list, ", "+word+" field ", "\n"+word+" field ")
	}
	return sorted(strings.Split(list, "\n"))
}

func (c *cluster) lenientAnswer(t *testing.T, gvk schema.GroupVersionKind, object []byte) answer {
	t.Helper()
	c.warnings.take()
	err := c.post(t, gvk, object, metav1.FieldValidationWarn)
	// The API server also has advice on finalizers.
	warnings := sorted(slices.DeleteFunc(c.warnings.take(), func(text string) bool { return strings.HasPrefix(text, "metadata.finalizers") }))
	if err == nil {
		return answer{Warnings: warnings}
	}
	status := apierrors.APIStatus(nil)
	if apierrors.IsBadRequest(err) { // metadata that does not decode
		return answer{Refused: true, Fields: []string{"metadata"}, Warnings: warnings}
	}
	if !errors.As(err, &status) || status.Status().Reason != "Invalid" {
		t.Fatalf("%v\n%s", err, object)
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		fields = append(fields, cause.Field)
	}
	return answer{Refused: true, Fields: namedOnly(fields), Warnings: warnings}
}

// namedOnly are the fields that have a name, each once. The API server adds one for the path of /scale.
func namedOnly(fields []string) []string {
	fields = slices.DeleteFunc(fields, func(name string) bool { return strings.HasPrefix(name, ".") })
	slices.Sort(fields)
	return slices.Compact(fields)
}

func sorted(texts []string) []string {
	if len(texts) == 0 {
		return nil
	}
	return slices.Compact(slices.Sorted(slices.Values(texts)))
}

// testOfflineAgrees proves that Offline gives the verdict, fields and warnings of the API server: for all samples in both
// versions, the corpus, the samples we ship, and random objects.
func testOfflineAgrees(t *testing.T, c *cluster) {
	o := offline(t)
	different := 0
	compare := func(reason string, gvk schema.GroupVersionKind, object []byte) {
		want := offlineAnswer(t, o, object)
		diff := cmp.Diff(want, c.onlineAnswer(t, gvk, object))
		if diff != "" {
			// A webhook that is late on a busy machine is left out, as our policy for v1 says.
			diff = cmp.Diff(want, c.onlineAnswer(t, gvk, object))
		}
		if diff == "" {
			return
		}
		if different++; different < 10 {
			t.Errorf("%s %s %s (-offline +online):\n%s\n%s", gvk.Kind, gvk.Version, reason, diff, object)
		}
	}
	for reason, object := range agreementCases(t) {
		compare(reason, object.gvk, object.raw)
	}
	r := newRandom(t)
	refused := 0
	for gvk := range bases {
		for range *objects {
			object := r.object(gvk)
			if offlineAnswer(t, o, object).Refused {
				refused++
			}
			compare("random", gvk, object)
		}
	}
	if total := *objects * len(bases); refused < total/10 || refused > total*9/10 {
		t.Errorf("%d of %d random objects are refused: the generator proves little", refused, total)
	}
	t.Logf("%d of %d random objects refused", refused, *objects*len(bases))
}

type versioned struct {
	gvk schema.GroupVersionKind
	raw []byte
}

// agreementCases are all objects that are not random.
func agreementCases(t *testing.T) map[string]versioned {
	t.Helper()
	cases := map[string]versioned{}
	for _, object := range badObjects(t) {
		cases[object.reason] = versioned{object.kind.WithVersion("v1"), object.raw}
		view, err := conversion.Convert(object.raw, object.kind.Group+"/v1alpha1")
		if err != nil {
			t.Fatal(err)
		}
		cases[object.reason+" as v1alpha1"] = versioned{object.kind.WithVersion("v1alpha1"), view.Object}
	}
	for gvk, samples := range badSpecs {
		for _, sample := range samples {
			cases["bad "+gvk.String()+sample.reason] = versioned{gvk, base(t, gvk, `{"spec": `+sample.spec+`}`)}
		}
	}
	files, err := filepath.Glob("../config/samples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples: %v", len(files), err)
	}
	for _, file := range files {
		raw := jsonOf(t, file)
		cases[file] = versioned{decodedObject(t, raw).GroupVersionKind(), raw}
	}
	for file, gvk := range map[string]schema.GroupVersionKind{
		"app_v1_webapp": webApp.WithVersion("v1"), "app_v1alpha1_webapp": webApp.WithVersion("v1alpha1"),
		"batch_v1_podset": podSet.WithVersion("v1"), "batch_v1alpha1_podset": podSet.WithVersion("v1alpha1"),
	} {
		var entries []struct {
			Name string          `json:"name"`
			Spec json.RawMessage `json:"spec"`
		}
		if err := json.Unmarshal(jsonOf(t, "../test/corpus/admission/"+file+".yaml"), &entries); err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			cases["corpus "+file+" "+entry.Name] = versioned{gvk, merged(t, `{"apiVersion": "`+gvk.GroupVersion().String()+`", "kind": "`+gvk.Kind+`",
				"metadata": {"name": "`+entry.Name+`"}}`, `{"spec": `+string(entry.Spec)+`}`)}
		}
	}
	for name, metadata := range map[string]string{
		"bad name": `{"name": "A_b"}`, "no name": `{"name": null}`, "generated name": `{"name": null, "generateName": "web-"}`,
		"long generated name": `{"name": null, "generateName": "` + long(80) + `"}`, "bad label": `{"labels": {"a b": "c"}}`,
		"label of the wrong type": `{"labels": {"a": 1}}`, "unknown field": `{"surprise": 1}`, "server's fields": `{"uid": "x", "creationTimestamp": null}`,
		"finalizer": `{"finalizers": ["example.net/hold"]}`, "bad finalizer": `{"finalizers": ["a b"]}`,
		"damaged annotation": `{"annotations": {"workload.example.com/v1-fields": "{"}}`,
	} {
		for gvk := range bases {
			cases[name+gvk.String()] = versioned{gvk, base(t, gvk, `{"metadata": `+metadata+`, "status": {"replicas": "many", "surprise": 1}, "spec": {"surprise": {"a": 1}}}`)}
		}
	}
	for gvk := range bases {
		// Both levels, a name in a list, and another case of a name.
		object := string(base(t, gvk, `{"spec": {"volumes": [{"name": "a", "emptyDir": {}, "emptydir": {}}], "Image": "x"}}`))
		object = strings.Replace(object, `"spec":{`, `"spec":{"image":{},"env":null,"env":null,`, 1)
		object = strings.Replace(object, `"metadata":{`, `"metadata":{"labels":{"a":"1","a":"2"},`, 1)
		cases["duplicates"+gvk.String()] = versioned{gvk, []byte(strings.TrimSuffix(object, "}") + `,"Spec":{},"status":{},"status":{}}`)}
	}
	return cases
}

func jsonOf(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err == nil {
		raw, err = yaml.YAMLToJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
