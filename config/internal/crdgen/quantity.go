package main

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// controller-gen lets every exponent through. Whoever compares or rounds a quantity such as -1.5e999999999 computes all its
// digits: the API server in CEL rules, and every client that decodes it. Two digits are more than any use of
// a quantity needs, since larger ones are capped.
const (
	anyExponent   = `([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+)))`
	shortExponent = `([eE](\+|-)?[0-9]{1,2})`
)

// boundQuantities bounds the exponent of all quantities in a schema. It returns how many there are.
func boundQuantities(schema *apiextensionsv1.JSONSchemaProps) int {
	if schema == nil {
		return 0
	}
	found := 0
	if schema.XIntOrString && strings.Contains(schema.Pattern, anyExponent) {
		schema.Pattern = strings.Replace(schema.Pattern, anyExponent, shortExponent, 1)
		found++
	}
	for name, property := range schema.Properties {
		found += boundQuantities(&property)
		schema.Properties[name] = property
	}
	if schema.Items != nil {
		found += boundQuantities(schema.Items.Schema)
	}
	if schema.AdditionalProperties != nil {
		found += boundQuantities(schema.AdditionalProperties.Schema)
	}
	return found
}
