package config

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed crd/bases/*.yaml
var files embed.FS

// folder of the embedded files.
const folder = "crd/bases"

// CRDFiles returns the files of the CustomResourceDefinitions by name, one definition in each.
func CRDFiles() (map[string][]byte, error) {
	entries, err := files.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	contents := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		data, err := files.ReadFile(path.Join(folder, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
		}
		contents[entry.Name()] = data
	}
	return contents, nil
}

// CRDs returns the CustomResourceDefinitions of all kinds, sorted by file name. The caller owns the objects. Their
// conversion stanza names the webhook Service of the default installation and has no caBundle.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	contents, err := CRDFiles()
	if err != nil {
		return nil, err
	}
	crds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(contents))
	for _, name := range slices.Sorted(maps.Keys(contents)) {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(contents[name], crd); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		crds = append(crds, crd)
	}
	return crds, nil
}
