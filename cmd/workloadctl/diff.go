package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// differ collects the differences between a value and what comes back for it.
type differ struct {
	target string
	known  map[string]bool // dotted paths that are reported already, and with them all below
	depth  int             // objects and lists around the current place
	found  []difference
}

type difference struct{ path, message string }

// maxDiffDepth is how deep differences are told apart. Below it the whole value is one difference: a path for each entry, as
// long as the value is deep, would take time and room that grow with the square of the input.
const maxDiffDepth = 32

// reported notes that there is nothing more to say about a path and what is below it.
func (d *differ) reported(path string) {
	if d.known == nil {
		d.known = map[string]bool{}
	}
	d.known[dotted(path)] = true
}

func (d *differ) add(path, format string, args ...any) {
	if !d.isKnown(dotted(path)) {
		d.found = append(d.found, difference{path: path, message: fmt.Sprintf(format, args...)})
	}
}

// isKnown reports whether a path or one around it is known.
func (d *differ) isKnown(path string) bool {
	for i := range path {
		if path[i] == '.' && d.known[path[:i]] {
			return true
		}
	}
	return d.known[path]
}

var brackets = strings.NewReplacer("[", ".", "]", "")

// dotted writes a path without brackets, since a member and an entry with a name may be the same place.
func dotted(path string) string { return brackets.Replace(path) }

func (d *differ) diff(path string, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	d.depth++
	defer func() { d.depth-- }()
	if d.depth <= maxDiffDepth && d.diffInside(path, before, after) {
		return
	}
	d.add(path, "is %s and would come back as %s", shortJSON(before), shortJSON(after))
}

// diffInside finds the differences between two objects or two lists; false if the values are neither.
func (d *differ) diffInside(path string, before, after any) bool {
	switch before := before.(type) {
	case map[string]any:
		if after, ok := after.(map[string]any); ok {
			d.diffObjects(path, before, after)
			return true
		}
	case []any:
		if after, ok := after.([]any); ok {
			d.diffLists(path, before, after)
			return true
		}
	}
	return false
}

func (d *differ) diffObjects(path string, before, after map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if value, ok := after[name]; ok {
			d.diff(memberPath(path, name), before[name], value)
		} else {
			d.gone(memberPath(path, name), before[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[name]; !ok {
			d.add(memberPath(path, name), "is absent and would come back as %s", shortJSON(after[name]))
		}
	}
}

// gone reports what does not come back, field by field.
func (d *differ) gone(path string, value any) {
	d.depth++
	defer func() { d.depth-- }()
	object, _ := value.(map[string]any)
	if len(object) == 0 || d.depth > maxDiffDepth {
		d.add(path, "cannot be said in %s", d.target)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		d.gone(memberPath(path, name), object[name])
	}
}

func (d *differ) diffLists(path string, before, after []any) {
	old, fresh := byName(before), byName(after)
	if old == nil || fresh == nil {
		d.add(path, "is %s and would come back as %s", shortJSON(before), shortJSON(after))
		return
	}
	for _, value := range before {
		name := nameOf(value)
		if came, ok := fresh[name]; ok {
			d.diff(path+"["+name+"]", value, came)
		} else {
			d.add(path+"["+name+"]", "cannot be said in %s", d.target)
		}
	}
	var was, is []string
	for _, value := range before {
		if _, ok := fresh[nameOf(value)]; ok {
			was = append(was, nameOf(value))
		}
	}
	for _, value := range after {
		is = append(is, nameOf(value))
	}
	if !slices.Equal(was, is) {
		d.add(path, "is in the order %s and would come back in the order %s", strings.Join(was, ", "), strings.Join(is, ", "))
	}
}

// byName returns the elements of a list by their names; nil if they do not have different names.
func byName(list []any) map[string]any {
	named := map[string]any{}
	for _, value := range list {
		name := nameOf(value)
		if _, twice := named[name]; twice || name == "" {
			return nil
		}
		named[name] = value
	}
	return named
}

func nameOf(value any) string {
	object, _ := value.(map[string]any)
	name, _ := object["name"].(string)
	return name
}

// freeNames are the fields whose members have names that users choose. As in messages of the API server and of package
// conversion, a path has those in brackets.
var freeNames = []string{"env", "annotations", "labels", "podLabels", "podAnnotations", "nodeSelector"}

func memberPath(path, name string) string {
	switch {
	case strings.ContainsAny(name, "./[]"), slices.Contains(freeNames, path[strings.LastIndexByte(path, '.')+1:]):
		return path + "[" + name + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// shortJSON is a value for a message.
func shortJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "?"
	}
	const limit = 120
	if len(text) > limit {
		return strings.ToValidUTF8(string(text[:limit]), "") + "..."
	}
	return string(text)
}
