package documents

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	k8sjson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/test/manifests"
)

const (
	root        = "../.."
	kubeconform = root + "/tools/kubeconform/go.mod"

	// location is what docs/schemas/README.md tells kubeconform.
	location = root + "/docs/schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}{{.StrictSuffix}}.json"
)

// candidate is an object that somebody might write, good or bad.
type candidate struct {
	name    string
	content map[string]any
}

// The JSON Schemas agree with the OpenAPI schemas of the CustomResourceDefinitions: on every object of the samples and the corpus, good or
// bad, and on those that follow from good ones by one mistake. The strict ones also refuse unknown fields, which the API server drops.
func TestSchemasAgreeWithTheDefinitions(t *testing.T) {
	t.Parallel()
	schemas := openAPISchemas(t)
	all := append(candidates(t), settings(t))
	for _, c := range slices.Clone(all) {
		if strings.HasPrefix(c.name, "conversion") { // their specs are much alike
			continue
		}
		if valid, unknown := schemas[kindOf(c)].verdict(c.content); valid && !unknown {
			all = append(all, mistakes(c)...)
		}
	}
	dir := t.TempDir()
	for i, c := range all {
		raw, err := json.Marshal(c.content)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.json", i)), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lenient, strict := runKubeconform(t, dir), runKubeconform(t, dir, "-strict")
	counts := map[[2]bool]int{}
	for i, c := range all {
		file := filepath.Join(dir, fmt.Sprintf("%04d.json", i))
		valid, unknown := schemas[kindOf(c)].verdict(c.content)
		counts[[2]bool{valid, unknown}]++
		if got := lenient[file]; got.ok() != valid {
			t.Errorf("%s: valid for the API server: %t, for the JSON Schema: %s\n%v", c.name, valid, got, c.content)
		}
		if got := strict[file]; got.ok() != (valid && !unknown) {
			t.Errorf("%s: valid for the API server: %t, unknown fields: %t, for the strict JSON Schema: %s\n%v", c.name, valid, unknown, got, c.content)
		}
	}
	t.Logf("%d objects; valid and without unknown fields: %d", len(all), counts[[2]bool{true, false}])
	for _, seen := range [][2]bool{{true, false}, {true, true}, {false, false}} {
		if counts[seen] == 0 {
			t.Errorf("no object with [valid, unknown fields] = %v: the test proves too little", seen)
		}
	}
}

func kindOf(c candidate) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(c.content["apiVersion"].(string), c.content["kind"].(string))
}

// openAPI is what the API server knows of a version, without its CEL rules, which JSON Schema has no words for.
type openAPI struct {
	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

func openAPISchemas(t *testing.T) map[schema.GroupVersionKind]openAPI {
	t.Helper()
	crds, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	all := map[schema.GroupVersionKind]openAPI{}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			internal := &apiextensions.CustomResourceValidation{}
			if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil); err != nil {
				t.Fatal(err)
			}
			structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			validator, _, err := validation.NewSchemaValidator(internal.OpenAPIV3Schema)
			if err != nil {
				t.Fatal(err)
			}
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			all[gvk] = openAPI{structural: structural, validator: validator}
		}
	}
	return all
}

// verdict takes the steps of the API server: it drops unknown fields and nulls, fills defaults in, and validates.
func (o openAPI) verdict(object map[string]any) (valid, unknown bool) {
	object = runtime.DeepCopyJSON(object)
	dropped := pruning.PruneWithOptions(object, o.structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, o.structural)
	defaulting.Default(object, o.structural)
	return len(validation.ValidateCustomResource(nil, object, o.validator)) == 0, len(dropped) > 0
}

// result is what kubeconform says of a file.
type result struct{ Filename, Status, Msg string }

func (r result) ok() bool { return r.Status == "statusValid" }

// runKubeconform fails the test if there is anything but verdicts; kubeconform's own exit status is 1 if an object is invalid.
func runKubeconform(t *testing.T, dir string, flags ...string) map[string]result {
	t.Helper()
	path, err := manifests.ToolPath(kubeconform, "kubeconform")
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"-schema-location", location, "-output", "json", "-verbose"}, flags...)
	out, err := exec.CommandContext(t.Context(), path, append(args, dir)...).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("kubeconform: %v\n%s", err, manifests.Stderr(err))
	}
	var report struct{ Resources []result }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	results := map[string]result{}
	for _, r := range report.Resources {
		if r.Status != "statusValid" && r.Status != "statusInvalid" {
			t.Errorf("kubeconform gave no verdict: %s", r)
		}
		results[r.Filename] = r
	}
	return results
}

// candidates are the samples, the objects of the corpus of conversion and those of the corpus of admission.
func candidates(t *testing.T) []candidate {
	t.Helper()
	manifests.ReadInputs(t, root+"/docs/schemas")
	var all []candidate
	add := func(name, kind, version string, raw []byte) {
		content := map[string]any{}
		if err := k8sjson.Unmarshal(raw, &content); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		content["apiVersion"], content["kind"] = groups[kind]+"/"+version, kind
		all = append(all, candidate{name: name, content: content})
	}
	for _, file := range append(glob(t, "config/samples/*.yaml"), glob(t, "config/samples/bad/*.yaml")...) {
		for _, object := range manifests.Decode(t, read(t, file)) {
			all = append(all, candidate{name: file, content: object.Object})
		}
	}
	for line := range strings.Lines(string(read(t, root+"/test/corpus/conversion/cases.txt"))) {
		if rest, ok := strings.CutPrefix(line, "in "); ok {
			parts := strings.SplitN(rest, " ", 3)
			add("conversion "+rest, parts[1], parts[0], []byte(parts[2]))
		}
	}
	for _, file := range glob(t, "test/corpus/admission/*.yaml") {
		for _, entry := range entries(t, file) {
			name := strings.Split(strings.TrimSuffix(filepath.Base(file), ".yaml"), "_") // app_v1_webapp
			kind := map[string]string{"webapp": "WebApp", "podset": "PodSet"}[name[2]]
			add(file+" "+entry.Name, kind, name[1], fmt.Appendf(nil, `{"metadata":{"name":"x"},"spec":%s}`, entry.Spec))
		}
	}
	return all
}

var groups = map[string]string{"WebApp": "app.example.com", "PodSet": "batch.example.com"}

// entry is one of test/corpus/admission.
type entry struct {
	Name string
	Spec json.RawMessage
}

func entries(t *testing.T, file string) []entry {
	t.Helper()
	var all []entry
	raw, err := yaml.YAMLToJSON(read(t, file))
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(files), err)
	}
	return files
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
