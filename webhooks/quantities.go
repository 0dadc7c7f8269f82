package webhooks

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// largeExponent matches text in which a quantity may have an exponent of more than two digits.
var largeExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3}`)

// endlessQuantities returns the quantities of an object that nobody must decode: to round or compare -1.5e999999999 takes all
// its digits, which are minutes and gigabytes. The pattern of the schema refuses them; this is for a request that
// does not come from an API server.
func (s *Schema) endlessQuantities(raw json.RawMessage) field.ErrorList {
	if !largeExponent.Match(raw) {
		return nil
	}
	value, err := decodeExact(raw)
	if err != nil {
		return nil // which decoding into the type will say
	}
	return endlessIn(value, s.structural, nil)
}

func endlessIn(value any, node *structuralschema.Structural, path *field.Path) field.ErrorList {
	if node == nil {
		return nil
	}
	var errs field.ErrorList
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if property, ok := node.Properties[name]; ok {
				errs = append(errs, endlessIn(value[name], &property, path.Child(name))...)
			} else if node.AdditionalProperties != nil {
				errs = append(errs, endlessIn(value[name], node.AdditionalProperties.Structural, path.Key(name))...)
			}
		}
	case []any:
		for i, item := range value {
			errs = append(errs, endlessIn(item, node.Items, path.Index(i))...)
		}
	case string, json.Number:
		quantity := node.XIntOrString && node.ValueValidation != nil && node.ValueValidation.Pattern != ""
		if text := fmt.Sprint(value); quantity && largeExponent.MatchString(text) {
			errs = append(errs, field.Invalid(path, text, "must have an exponent of at most two digits"))
		}
	}
	return errs
}
