package conversion

import (
	"maps"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// node is a place in a schema.
type node struct {
	*structuralschema.Structural
	name   string // of the property; of lists and maps the name of the property that has them
	path   string
	fields map[string]*node // of an object
	each   *node            // the items of a list, the values of a map
	rules  *cel.Validator   // nil if there are none here, or above the fields of spec
}

func newNode(schema *structuralschema.Structural, name, path string) *node {
	n := &node{Structural: schema, name: name, path: path, fields: map[string]*node{}}
	// The rules of spec and of the whole object run when the object is judged; asking them again and again is too slow.
	if strings.Count(path, ".") > 1 && len(schema.XValidations) > 0 {
		n.rules = cel.NewValidator(schema, false, celconfig.PerCallLimit)
	}
	for name, property := range schema.Properties {
		n.fields[name] = newNode(&property, name, path+"."+name)
	}
	switch {
	case schema.Items != nil:
		n.each = newNode(schema.Items, name, path+"[]")
	case schema.AdditionalProperties != nil && schema.AdditionalProperties.Structural != nil:
		n.each = newNode(schema.AdditionalProperties.Structural, name, path+"[]")
	}
	return n
}

// names are the fields in a fixed order, so that a seed gives the same objects each time.
func (n *node) names() []string { return slices.Sorted(maps.Keys(n.fields)) }

// leaves adds the paths of every scalar that an object can have.
func (n *node) leaves(into map[string]bool) {
	for _, field := range n.fields {
		field.leaves(into)
	}
	if n.each != nil {
		n.each.leaves(into)
	}
	if len(n.fields) == 0 && n.each == nil && n.Type != "object" {
		into[n.path] = true
	}
}

// strike takes the paths out that a value has.
func (n *node) strike(value any, from map[string]bool) {
	switch value := value.(type) {
	case map[string]any:
		for name, child := range value {
			if field := n.fields[name]; field != nil {
				field.strike(child, from)
			} else if n.each != nil {
				n.each.strike(child, from)
			}
		}
	case []any:
		for _, child := range value {
			n.each.strike(child, from)
		}
	case nil:
	default:
		delete(from, n.path)
	}
}
