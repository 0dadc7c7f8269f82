package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/config/internal/generator"
)

// errNoInput most often means that kustomize failed.
var errNoInput = errors.New("no CustomResourceDefinition on standard input: pipe the output of kustomize build config/crd here")

func main() { generator.Main("schemagen", "docs/schemas", run) }

// run changes nothing unless every schema could be made. What else the folders of the groups hold goes.
func run(in io.Reader, dir string) error {
	documents, err := generator.Documents(in)
	if err != nil {
		return err
	}
	if len(documents) == 0 {
		return errNoInput
	}
	files, groups := map[string][]byte{}, map[string]bool{}
	for _, document := range documents {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(document, crd); err != nil {
			return fmt.Errorf("decoding a CustomResourceDefinition: %w", err)
		}
		groups[crd.Spec.Group] = true
		if err := addSchemas(files, crd); err != nil {
			return fmt.Errorf("schemas of %s: %w", crd.Name, err)
		}
	}
	for group := range groups {
		if err := os.RemoveAll(filepath.Join(dir, group)); err != nil {
			return err
		}
	}
	return generator.Write(dir, files)
}

// addSchemas adds two files for each version, under the names that kubeconform and editors look for.
func addSchemas(files map[string][]byte, crd *apiextensionsv1.CustomResourceDefinition) error {
	for _, version := range crd.Spec.Versions {
		kind := kindVersion{
			apiVersion: crd.Spec.Group + "/" + version.Name,
			kind:       crd.Spec.Names.Kind,
			schema:     version.Schema.OpenAPIV3Schema,
		}
		name := fmt.Sprintf("%s/%s_%s", crd.Spec.Group, strings.ToLower(kind.kind), version.Name)
		for suffix, strict := range map[string]bool{"": false, "-strict": true} {
			data, err := render(kind.translate(strict))
			if err != nil {
				return err
			}
			files[name+suffix+".json"] = data
		}
	}
	return nil
}

// render indents by tabs, which keep the files small, and leaves < and > as they are, which descriptions and patterns have.
func render(schema any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "\t")
	err := encoder.Encode(schema)
	return out.Bytes(), err
}
