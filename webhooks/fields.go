package webhooks

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fields knows the fields of our kinds in all versions. It is safe for concurrent use.
//
// It is much quicker to make than Offline, since it compiles no rules.
type Fields struct {
	schemas map[schema.GroupVersionKind]*structuralschema.Structural
}

// NewFields reads the schemas of all versions.
func NewFields(crds []*apiextensionsv1.CustomResourceDefinition) (*Fields, error) {
	fields := &Fields{schemas: map[schema.GroupVersionKind]*structuralschema.Structural{}}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			properties, err := propertiesOf(crd, version.Name)
			if err != nil {
				return nil, err
			}
			structural, err := structuralschema.NewStructural(properties)
			if err != nil {
				return nil, fmt.Errorf("schema of %s %s: %w", crd.Name, version.Name, err)
			}
			fields.schemas[schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}] = structural
		}
	}
	return fields, nil
}

// Mistakes returns what strict decoding refuses in an object, in the words of the API server: unknown field "spec.replica" and
// duplicate field "spec.image". The error is not nil only if it is not an object of a kind and version of ours.
func (f *Fields) Mistakes(object []byte) ([]string, error) {
	content, mistakes, err := decodeStrictly(object)
	if err != nil {
		return nil, err
	}
	gvk := schema.FromAPIVersionAndKind(textOf(content["apiVersion"]), textOf(content["kind"]))
	structural := f.schemas[gvk]
	if structural == nil {
		return nil, noSuchKind(gvk)
	}
	// Metadata that does not decode has no unknown fields, but is refused anyway.
	_, _, unknown, _ := objectmeta.GetObjectMetaWithOptions(content, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	return append(mistakes, unknownFields(append(unknown, prune(content, structural)...))...), nil
}

// Names returns the names that the fields of an object may have at a path, in order; none where anything goes, and where there is no
// object. The path is one of Mistakes; empty is the whole object.
func (f *Fields) Names(gvk schema.GroupVersionKind, path string) []string {
	if path == "metadata" {
		return []string{"annotations", "finalizers", "generateName", "labels", "name", "namespace", "ownerReferences"}
	}
	node := f.at(gvk, path)
	if node == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(node.Properties))
}

// Has reports whether a version of a kind has a field.
func (f *Fields) Has(gvk schema.GroupVersionKind, path string) bool { return f.at(gvk, path) != nil }

// at returns the schema at a path, nil if there is none.
func (f *Fields) at(gvk schema.GroupVersionKind, path string) *structuralschema.Structural {
	node := f.schemas[gvk]
	if path == "" {
		return node
	}
	for step := range strings.SplitSeq(path, ".") {
		name, indexes, _ := strings.Cut(step, "[")
		node = propertyOf(node, name)
		for range strings.Count(indexes, "]") {
			if node != nil {
				node = node.Items
			}
		}
	}
	return node
}

func propertyOf(node *structuralschema.Structural, name string) *structuralschema.Structural {
	if node == nil {
		return nil
	}
	if property, ok := node.Properties[name]; ok {
		return &property
	}
	if node.AdditionalProperties != nil {
		return node.AdditionalProperties.Structural
	}
	return nil
}

// prune drops the fields that a schema does not have, and returns their paths.
func prune(object map[string]any, structural *structuralschema.Structural) (unknown []string) {
	return pruning.PruneWithOptions(object, structural, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

func unknownFields(paths []string) []string {
	texts := make([]string, len(paths))
	for i, path := range paths {
		texts[i] = `unknown field "` + path + `"` // not quoted once more: these are the API server's words
	}
	return texts
}

func noSuchKind(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("no kind %q in version %q", gvk.Kind, gvk.GroupVersion())
}
