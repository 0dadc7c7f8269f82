package main

import (
	"encoding/json"
	"math"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const draft = "http://json-schema.org/draft-07/schema#"

// object is a part of a JSON Schema.
type object = map[string]any

// typeNames are the types that a value may have.
type typeNames []string

// MarshalJSON writes a single type without brackets, as people do.
func (t typeNames) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// kindVersion is one version of a kind.
type kindVersion struct {
	apiVersion, kind string
	schema           *apiextensionsv1.JSONSchemaProps
}

// translate returns the JSON Schema of a whole object. What is true of every Kubernetes object is not in the definition: that it names
// its version and kind, and what metadata is.
func (k kindVersion) translate(strict bool) object {
	schema := translation{strict: strict}.schema(k.schema)
	schema["$schema"] = draft
	schema["title"] = k.kind + " " + k.apiVersion
	properties := schema["properties"].(object)
	properties["apiVersion"] = object{"type": "string", "const": k.apiVersion}
	properties["kind"] = object{"type": "string", "const": k.kind}
	properties["metadata"] = metadata()
	schema["required"] = append([]string{"apiVersion", "kind"}, k.schema.Required...)
	return schema
}

// metadata has what people write. It is open: tools and the API server write much else.
func metadata() object {
	text := object{"type": []string{"string", "null"}}
	texts := object{"type": []string{"object", "null"}, "additionalProperties": text}
	return object{"type": "object", "properties": object{
		"name": text, "generateName": text, "namespace": text, "labels": texts, "annotations": texts,
	}}
}

// translation turns OpenAPI schemas as CustomResourceDefinitions have them into JSON Schemas.
type translation struct{ strict bool }

// optional translates a value that may be absent. The API server drops nulls from objects before it validates, unless the field is
// nullable: so null is as good as absence, while a null in a list is refused.
func (t translation) optional(in *apiextensionsv1.JSONSchemaProps) object {
	out := t.schema(in)
	allowNull(out)
	return out
}

func (t translation) schema(in *apiextensionsv1.JSONSchemaProps) object {
	out := object{}
	if types := typesOf(in); len(types) > 0 {
		out["type"] = types
	}
	if in.Description != "" {
		out["description"] = in.Description
	}
	if in.Default != nil {
		out["default"] = in.Default
	}
	if len(in.Enum) > 0 {
		values := make([]any, len(in.Enum))
		for i, value := range in.Enum {
			values[i] = value
		}
		out["enum"] = values
	}
	bounds(out, in)
	t.contents(out, in)
	if in.Nullable {
		allowNull(out)
	}
	return out
}

// allowNull adds null to what a schema accepts.
func allowNull(out object) {
	if types, ok := out["type"].(typeNames); ok && !slices.Contains(types, "null") {
		out["type"] = append(types, "null")
	}
	if values, ok := out["enum"].([]any); ok && !slices.Contains(values, nil) {
		out["enum"] = append(values, nil)
	}
}

func typesOf(in *apiextensionsv1.JSONSchemaProps) typeNames {
	switch {
	case in.XIntOrString:
		return typeNames{"integer", "string"}
	case in.Type == "":
		return nil
	default:
		return typeNames{in.Type}
	}
}

// bounds copies what limits a single value. JSON Schema has no format int32, so that becomes bounds; the API server checks it.
func bounds(out object, in *apiextensionsv1.JSONSchemaProps) {
	minimum, maximum := in.Minimum, in.Maximum
	if in.Format == "int32" {
		minimum, maximum = tighter(minimum, math.MinInt32, math.Max), tighter(maximum, math.MaxInt32, math.Min)
	}
	set(out, "minimum", minimum)
	set(out, "maximum", maximum)
	set(out, "minLength", in.MinLength)
	set(out, "maxLength", in.MaxLength)
	set(out, "minItems", in.MinItems)
	set(out, "maxItems", in.MaxItems)
	set(out, "minProperties", in.MinProperties)
	set(out, "maxProperties", in.MaxProperties)
	if in.Pattern != "" {
		out["pattern"] = in.Pattern
	}
	if in.Format == "date-time" {
		out["format"] = in.Format
	}
}

func tighter(bound *float64, other float64, choose func(a, b float64) float64) *float64 {
	if bound != nil {
		other = choose(*bound, other)
	}
	return &other
}

func set[T any](out object, name string, value *T) {
	if value != nil {
		out[name] = *value
	}
}

// contents translates what is in an object or a list.
func (t translation) contents(out object, in *apiextensionsv1.JSONSchemaProps) {
	required := map[string]bool{}
	for _, name := range in.Required {
		required[name] = true
	}
	if len(in.Properties) > 0 {
		properties := object{}
		for name, property := range in.Properties {
			if required[name] && property.Default == nil {
				properties[name] = t.schema(&property)
			} else {
				properties[name] = t.optional(&property)
			}
		}
		out["properties"] = properties
		if t.strict && (in.XPreserveUnknownFields == nil || !*in.XPreserveUnknownFields) {
			out["additionalProperties"] = false
		}
	}
	if len(in.Required) > 0 {
		out["required"] = in.Required
	}
	if in.AdditionalProperties != nil && in.AdditionalProperties.Schema != nil {
		out["additionalProperties"] = t.optional(in.AdditionalProperties.Schema)
	}
	if in.Items != nil && in.Items.Schema != nil {
		out["items"] = t.schema(in.Items.Schema)
	}
}
