package ownership

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/utils/ptr"
)

// typeConverter knows which lists and maps of a version are owned by entry, as the API server does.
func typeConverter(crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion) (managedfields.TypeConverter, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("%s has no schema for version %s", crd.Name, version.Name)
	}
	properties := version.Schema.OpenAPIV3Schema.DeepCopy()
	if properties.Properties == nil {
		properties.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	properties.Properties["metadata"] = objectMeta
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(properties, internal, nil); err != nil {
		return nil, fmt.Errorf("schema of %s %s: %w", crd.Name, version.Name, err)
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, fmt.Errorf("schema of %s %s: %w", crd.Name, version.Name, err)
	}
	openAPI := structural.ToKubeOpenAPI()
	openAPI.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": crd.Spec.Group, "version": version.Name, "kind": crd.Spec.Names.Kind},
	})
	converter, err := managedfields.NewTypeConverter(named("object", openAPI), crd.Spec.PreserveUnknownFields)
	if err != nil {
		return nil, fmt.Errorf("types of %s %s: %w", crd.Name, version.Name, err)
	}
	return converter, nil
}

// named makes a map of one entry.
func named[T any](name string, value T) map[string]T { return map[string]T{name: value} }

// objectMeta is what managers own in metadata. Definitions leave its schema to the API server.
var objectMeta = apiextensionsv1.JSONSchemaProps{
	Type: "object",
	Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"labels":      stringMap,
		"annotations": stringMap,
		"finalizers":  {Type: "array", XListType: ptr.To("set"), Items: itemsOf(apiextensionsv1.JSONSchemaProps{Type: "string"})},
		"ownerReferences": {
			Type: "array", XListType: ptr.To("map"), XListMapKeys: []string{"uid"},
			Items: itemsOf(apiextensionsv1.JSONSchemaProps{
				Type: "object", XMapType: ptr.To("atomic"), XPreserveUnknownFields: ptr.To(true),
				Properties: map[string]apiextensionsv1.JSONSchemaProps{"uid": {Type: "string"}},
			}),
		},
	},
	XPreserveUnknownFields: ptr.To(true),
}

var stringMap = apiextensionsv1.JSONSchemaProps{
	Type:                 "object",
	AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}},
}

func itemsOf(schema apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaPropsOrArray {
	return &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &schema}
}
