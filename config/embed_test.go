package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	appv1alpha1 "github.com/example/workload-operator/apis/app/v1alpha1"
	batchv1 "github.com/example/workload-operator/apis/batch/v1"
	batchv1alpha1 "github.com/example/workload-operator/apis/batch/v1alpha1"
	"github.com/example/workload-operator/config"
)

// maxFileSize leaves room below the 256 KiB that annotations may take: client-side apply stores the file in one.
const maxFileSize = 200 << 10

func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list, err := config.CRDs()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, crd := range list {
		byName[crd.Name] = crd
	}
	if len(list) != 2 || byName["webapps.app.example.com"] == nil || byName["podsets.batch.example.com"] == nil {
		t.Fatalf("want the definitions of webapps and podsets, have %d: remove stale files from config/crd/bases", len(list))
	}
	return byName
}

func TestCRDConversionStanza(t *testing.T) {
	want := &apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				Service: &apiextensionsv1.ServiceReference{
					Namespace: "workload-operator-system",
					Name:      "workload-operator-webhook-service",
					Path:      ptr.To("/convert"),
					Port:      ptr.To[int32](443),
				},
			},
		},
	}
	for name, crd := range crds(t) {
		if diff := cmp.Diff(want, crd.Spec.Conversion); diff != "" {
			t.Errorf("conversion of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCRDVersions(t *testing.T) {
	type facts struct{ Served, Storage, Deprecated, Status, Scale bool }
	want := map[string]facts{
		"v1":       {Served: true, Storage: true, Status: true, Scale: true},
		"v1alpha1": {Served: true, Deprecated: true, Status: true, Scale: true},
	}
	for name, crd := range crds(t) {
		got := map[string]facts{}
		for _, v := range crd.Spec.Versions {
			got[v.Name] = facts{v.Served, v.Storage, v.Deprecated, v.Subresources.Status != nil, v.Subresources.Scale != nil}
			warning := ptr.Deref(v.DeprecationWarning, "")
			if advice := "workloadctl convert -f FILE --to " + crd.Spec.Group + "/v1"; v.Deprecated && !strings.Contains(warning, advice) {
				t.Errorf("the warning of %s %s must advise %q, it is %q", name, v.Name, advice, warning)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("versions of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestCRDFileSize(t *testing.T) {
	files, err := config.CRDFiles()
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if len(data) >= maxFileSize {
			t.Errorf("%s has %d bytes, it must stay under %d", name, len(data), maxFileSize)
		}
	}
}

func TestCRDFieldsAreDescribed(t *testing.T) {
	for name, crd := range crds(t) {
		for _, version := range crd.Spec.Versions {
			root := version.Schema.OpenAPIV3Schema
			delete(root.Properties, "metadata") // described by the API server
			for _, path := range undescribed(root, "") {
				t.Errorf("%s %s: %s has no description", name, version.Name, path)
			}
		}
	}
}

// undescribed returns the paths of fields without a description. List and map entries need none of their own.
func undescribed(node *apiextensionsv1.JSONSchemaProps, path string) []string {
	var paths []string
	for name, property := range node.Properties {
		if property.Description == "" {
			paths = append(paths, path+"."+name)
		}
		paths = append(paths, undescribed(&property, path+"."+name)...)
	}
	if node.Items != nil && node.Items.Schema != nil {
		paths = append(paths, undescribed(node.Items.Schema, path+"[]")...)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		paths = append(paths, undescribed(node.AdditionalProperties.Schema, path+"[]")...)
	}
	return paths
}

func TestSamplesDecodeStrictly(t *testing.T) {
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(
		appv1.AddToScheme, appv1alpha1.AddToScheme, batchv1.AddToScheme, batchv1alpha1.AddToScheme,
	)
	if err := builder.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	var got []string
	for _, file := range sampleFiles(t) {
		_, gvk, err := decoder.Decode(read(t, file), nil, nil)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got = append(got, gvk.String())
	}
	want := []string{
		"app.example.com/v1, Kind=WebApp",
		"app.example.com/v1alpha1, Kind=WebApp",
		"app.example.com/v1, Kind=WebApp",
		"batch.example.com/v1, Kind=PodSet",
		"batch.example.com/v1alpha1, Kind=PodSet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds of the samples (-want +got):\n%s", diff)
	}
}

// The two seed documents work as they are, for ever: the samples must not drift away from them.
func TestSeedSamplesAreVerbatim(t *testing.T) {
	tests := map[string]string{
		"samples/app_v1_webapp.yaml": `apiVersion: app.example.com/v1
kind: WebApp
metadata: {name: my-app}
spec: {image: "nginx:1.25", replicas: 3, port: 80}
`,
		"samples/batch_v1_podset.yaml": `apiVersion: batch.example.com/v1
kind: PodSet
metadata: {name: podset-sample}
spec: {replicas: 3, image: "nginx:alpine"}
`,
	}
	for file, want := range tests {
		if diff := cmp.Diff(want, string(read(t, file))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}

func sampleFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("samples", func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
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
