package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

// targets are the versions to convert to: group and version by group.
type targets map[string]string

// of returns the version an object of that apiVersion and kind is to have; empty if it is to stay as it is.
func (t targets) of(apiVersion, kind string) string {
	group, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return ""
	}
	for _, known := range conversion.Kinds() {
		if known.Group == group.Group && known.Kind == kind {
			return t[group.Group]
		}
	}
	return ""
}

// listOf returns the version the items of a list of one of our kinds are to have, and whether it is any list at all.
func (t targets) listOf(apiVersion, kind string) (version string, list bool) {
	item, list := strings.CutSuffix(kind, "List")
	return t.of(apiVersion, item), list && (item == "" && apiVersion == "v1" || t.of(apiVersion, item) != "")
}

// converter converts objects and collects what there is to say about them.
type converter struct {
	targets
	guide       fieldGuide
	lastApplied bool // convert the last-applied annotation too

	check bool // find what needs the annotations of a conversion

	ours     bool      // there was an object to convert, if only into the version it has
	lists    int       // lists around the object
	path     string    // of the object within the document, for lists
	findings []finding // what --check is for
	warnings []finding
	lost     []finding // what no conversion may lose
}

// convert returns an object with everything in it that is to be converted. What is not comes back as the same bytes.
func (c *converter) convert(object []byte) ([]byte, error) {
	apiVersion, kind := stringAt(object, "apiVersion"), stringAt(object, "kind")
	if unknown := c.unknownKind(apiVersion, kind); unknown != "" {
		return nil, errors.New(c.prefix() + unknown)
	}
	if version, list := c.listOf(apiVersion, kind); list && c.lists <= maxLists {
		c.lists++
		defer func() { c.lists-- }()
		return c.convertList(object, version)
	}
	if target := c.of(apiVersion, kind); target != "" {
		return c.convertOne(object, target)
	}
	if hint := nearMiss(apiVersion, kind); hint != "" {
		c.warnings = append(c.warnings, c.findingOf(object).at("", hint))
	}
	return object, nil
}

func (c *converter) convertOne(object []byte, target string) ([]byte, error) {
	c.ours = true
	if c.lastApplied {
		object = c.convertLastApplied(object, target)
	}
	if stringAt(object, "apiVersion") == target {
		return object, nil
	}
	result, err := conversion.Convert(object, target)
	if err != nil {
		return nil, fmt.Errorf("%s%w", c.prefix(), err)
	}
	c.report(object, result)
	if c.check {
		return result.Object, c.compare(object, target)
	}
	return result.Object, nil
}

// prefix is the path of the object within the document, as the beginning of a message.
func (c *converter) prefix() string {
	if c.path == "" {
		return ""
	}
	return c.path + ": "
}

// convertList converts the items of a list, and the list itself if it is one of our kinds. version is empty for a list of any
// kinds.
func (c *converter) convertList(list []byte, version string) ([]byte, error) {
	items, ok := spanAt(list, "items")
	switch value := items.of(list); {
	case !ok || string(value) == "null":
	case value[0] != '[':
		return nil, fmt.Errorf("%s%w", c.prefix(), errNoItems)
	default:
		converted, err := c.convertItems(list, items.of(list), version)
		if err != nil {
			return nil, err
		}
		list = replaced(list, items, converted)
	}
	if at, ok := spanAt(list, "apiVersion"); ok && version != "" && stringAt(list, "apiVersion") != version {
		list = replaced(list, at, []byte(`"`+version+`"`))
	}
	return list, nil
}

func (c *converter) convertItems(list, items []byte, version string) ([]byte, error) {
	outer := c.path
	defer func() { c.path = outer }()
	apiVersion, kind := stringAt(list, "apiVersion"), strings.TrimSuffix(stringAt(list, "kind"), "List")
	var out bytes.Buffer
	last := 0
	for i, at := range elementSpans(items) {
		c.path = strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", outer, i), ".")
		item := at.of(items)
		if version != "" {
			item = withIdentity(item, apiVersion, kind)
		}
		converted, err := c.convert(item)
		if err != nil {
			return nil, err
		}
		out.Write(items[last:at.start])
		out.Write(converted)
		last = at.end
	}
	out.Write(items[last:])
	return out.Bytes(), nil
}

// withIdentity gives an item of a list the apiVersion and kind that follow from the list, if it has neither. Readers of such
// lists assume them too.
func withIdentity(item []byte, apiVersion, kind string) []byte {
	_, hasVersion := spanAt(item, "apiVersion")
	_, hasKind := spanAt(item, "kind")
	inner, object := bytes.CutPrefix(item, []byte("{"))
	if hasVersion || hasKind || !object {
		return item
	}
	comma := ","
	if bytes.TrimLeft(inner, jsonSpace)[0] == '}' {
		comma = ""
	}
	return fmt.Appendf(nil, `{"apiVersion":%q,"kind":%q%s%s`, apiVersion, kind, comma, inner)
}
