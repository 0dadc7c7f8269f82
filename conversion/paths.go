package conversion

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// SpokePath returns what a client of an older version calls a place in a hub object, as an error shows it. hubPath is a path
// in the form of field.Path: names joined by dots, indexes and keys in brackets. A place inside a value that changes shape
// is named by the nearest field around it; a field the version does not have, by the annotation that carries it.
// A path of metadata, or of a kind or version that is not ours, stays as it is.
func SpokePath(kind schema.GroupKind, version, hubPath string) string {
	spoke := standard.kinds[kind][version]
	if spoke == nil {
		return hubPath
	}
	return spoke.spokePath(hubPath)
}

const keptPath = annotationPath + workloadv1.AnnotationV1Fields + "]"

func (c *compiled) spokePath(hubPath string) string {
	if path := c.rowPath(hubPath); path != "" {
		return path
	}
	named := keyInBrackets.ReplaceAllString(hubPath, ".$1") // field.Path writes requests.cpu as requests[cpu]
	if path := c.rowPath(named); path != "" {
		return path
	}
	if _, inside := within(named, "spec"); inside && named != "spec" {
		return c.structPath(named)
	}
	return hubPath
}

var keyInBrackets = regexp.MustCompile(`\[([a-z-]+)\]`)

// rowPath names a place at or inside of a field the table names; empty for any other.
func (c *compiled) rowPath(hubPath string) string {
	for i := range c.rows {
		row := &c.rows[i]
		rest, inside := within(hubPath, row.hub)
		switch {
		case !inside:
		case row.spoke == "":
			return keptPath
		case row.how == nil:
			return row.spoke + rest
		default:
			return c.reshapedPath(row, rest)
		}
	}
	return ""
}

// reshapedPath names a place inside a reshaped value: that of the entry for a list by key, else the whole field.
func (c *compiled) reshapedPath(r *row, rest string) string {
	fields := strings.Fields(r.spoke)
	if len(fields) > 1 {
		return parentPath(fields[0])
	}
	if r.how == envMap && strings.Contains(rest, ".valueFrom") {
		return keptPath
	}
	return fields[0]
}

// structPath names a hub struct that the spoke shows in part: the struct that shows all of it, if there is one.
func (c *compiled) structPath(hubPath string) string {
	common, first := "", ""
	for i := range c.rows {
		row := &c.rows[i]
		if _, inside := within(row.hub, hubPath); !inside || row.spoke == "" {
			continue
		}
		parent := parentPath(strings.Fields(row.spoke)[0])
		if common == "" {
			common, first = parent, strings.Fields(row.spoke)[0]
		}
		for !strings.HasPrefix(parent+".", common+".") {
			common = parentPath(common)
		}
	}
	switch common {
	case "":
		return keptPath
	case "spec":
		return first
	}
	return common
}

// within reports whether path is at or inside of outer, and what follows.
func within(path, outer string) (rest string, inside bool) {
	rest, inside = strings.CutPrefix(path, outer)
	return rest, inside && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func parentPath(path string) string {
	if i := strings.LastIndexByte(path, '.'); i > 0 {
		return path[:i]
	}
	return path
}

// Field is a row of a table, for documentation.
type Field struct {
	// Hub and Spoke are the paths in the two versions. Spoke is empty for a field that only the hub has, and has several
	// paths, separated by a space, for a value that is taken apart.
	Hub, Spoke string

	// Policy is same, renamed, kept (only the hub has the field), or the name of the reshape.
	Policy string

	// Example is a hub value and, after an arrow, the spoke's where it looks different.
	Example string
}

// Fields returns the table of a kind and an older version, in order. None if they are not ours.
func Fields(kind schema.GroupKind, version string) []Field {
	spoke := standard.kinds[kind][version]
	if spoke == nil {
		return nil
	}
	fields := make([]Field, 0, len(spoke.rows))
	for i := range spoke.rows {
		row := &spoke.rows[i]
		fields = append(fields, Field{Hub: row.hub, Spoke: row.spoke, Policy: row.policy(), Example: row.example})
	}
	return fields
}

func (r *row) policy() string {
	switch {
	case r.spoke == "":
		return "kept"
	case r.how != nil:
		return r.how.name
	case r.hub == r.spoke:
		return "same"
	}
	return "renamed"
}
