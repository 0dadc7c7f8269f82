package main

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// corePackages is the prefix of the import paths whose text is shortened.
const corePackages = "k8s.io/api/"

// sentenceEnd matches the end of a sentence or paragraph. A capital must follow, so that "e.g. this" goes on.
var sentenceEnd = regexp.MustCompile(`\.\s+[A-Z]|\n\n`)

// shorten cuts every description below node that comes from a core type. The description of node itself is the
// comment on a field of ours, whatever the type of the field, and stays.
func shorten(node *apiextensionsv1.JSONSchemaProps, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if isCore(t) {
		shortenBelow(node)
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		if node.Items == nil {
			return nil // a []byte is a string in the schema
		}
		return shortenElement(node.Items.Schema, t.Elem())
	case reflect.Map:
		if node.AdditionalProperties == nil {
			return nil // a marker made it any object
		}
		return shortenElement(node.AdditionalProperties.Schema, t.Elem())
	case reflect.Struct:
		return shortenFields(node, t)
	}
	return nil
}

// shortenElement handles the schema of list and map entries, whose own description is the comment on their type.
func shortenElement(node *apiextensionsv1.JSONSchemaProps, t reflect.Type) error {
	if isCore(t) {
		node.Description = firstSentence(node.Description)
	}
	return shorten(node, t)
}

func shortenFields(node *apiextensionsv1.JSONSchemaProps, t reflect.Type) error {
	fields := fieldsByName(t)
	for name, property := range node.Properties {
		field, ok := fields[name]
		if !ok {
			return fmt.Errorf("type %s has no field %q", t, name)
		}
		if err := shorten(&property, field); err != nil {
			return err
		}
		node.Properties[name] = property
	}
	return nil
}

func isCore(t reflect.Type) bool {
	return strings.HasPrefix(t.PkgPath(), corePackages)
}

// fieldsByName maps JSON names to types. Fields of inlined structs count as fields of t, as in encoding/json.
func fieldsByName(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields[name] = field.Type
		}
	}
	return fields
}

func shortenBelow(node *apiextensionsv1.JSONSchemaProps) {
	for name, property := range node.Properties {
		property.Description = firstSentence(property.Description)
		shortenBelow(&property)
		node.Properties[name] = property
	}
	for _, element := range elements(node) {
		element.Description = firstSentence(element.Description)
		shortenBelow(element)
	}
}

// elements returns the schema of the entries of a list or map.
func elements(node *apiextensionsv1.JSONSchemaProps) []*apiextensionsv1.JSONSchemaProps {
	var nodes []*apiextensionsv1.JSONSchemaProps
	if node.Items != nil && node.Items.Schema != nil {
		nodes = append(nodes, node.Items.Schema)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		nodes = append(nodes, node.AdditionalProperties.Schema)
	}
	return nodes
}

func firstSentence(text string) string {
	end := sentenceEnd.FindStringIndex(text)
	if end == nil {
		return text
	}
	return strings.TrimSpace(strings.TrimSuffix(text[:end[0]], ".")) + "."
}
