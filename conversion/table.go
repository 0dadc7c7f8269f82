package conversion

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// hubVersion is the version every other one converts to and from.
const hubVersion = "v1"

// table describes one spoke version of one kind: how each field is called there and in the hub.
type table struct {
	kind    schema.GroupKind
	version string
	rows    []row

	// structs name hub structs that the spoke shows in part.
	structs []sharedStruct
}

// row is one field. Paths are JSON names joined by dots. A row without a spoke path is a field that only the hub has.
type row struct {
	hub string

	// spoke is the path in the spoke, or several paths separated by a space if how takes the value apart.
	spoke string

	// how changes the value's shape. nil: the value is copied, right type or not.
	how *reshape

	// example is a hub value as JSON, and, after an arrow, the spoke's value where it looks different.
	example string
}

// reshape is a named pair of functions. Each reads the source's values and sets the destination's.
type reshape struct {
	name     string
	down, up func(*run, *boundRow)
}

// sharedStruct is a hub struct of which the spoke shows some fields: shown and also name all of them. Its hidden fields are kept
// while the spoke shows any. When the spoke shows none any more, the struct was removed there with all that is in it; not so
// if the hub has one of the fields in unless, which make it a struct the spoke never showed. Those exclude what shown shows, but not
// what also does: when it comes to be shown in the spoke, they go.
type sharedStruct struct {
	hub    string
	shown  []string
	also   []string
	unless []string
}

// node is a place in an object that the table knows: a field, or a struct on the way to one.
type node struct {
	name     string
	path     string
	quoted   []byte // the name as it begins a member: "name":
	parent   *node
	children []*node
	byName   map[string]*node
	byLength [][]*node // children by the length of their name with quotes: what to compare a name with

	// field numbers the fields of a tree in depth-first order and is -1 for a struct; [first, last) are the fields below.
	field       int
	first, last int

	// box numbers the structs of a tree and is -1 for a field.
	box int

	// twin is the struct at the same place in the other version; only spec and status have one.
	twin *node

	// passes is true if unknown members keep their name in the other version: so it is in status.
	passes bool
}

// tree is everything the table knows of one version.
type tree struct {
	version      string
	spec, status *node
	fields       []*node
	boxes        []*node
}

// boundRow is a row with its paths resolved to field numbers.
type boundRow struct {
	*row
	hub, spoke []int
}

// boundStruct is a sharedStruct with its paths resolved.
type boundStruct struct {
	hub    *node
	shown  []*node
	also   []*node
	unless []string
}

// movedAnnotation is a hub annotation that is a field in the spoke.
type movedAnnotation struct {
	key   string
	field int
}

// compiled is a table ready to run.
type compiled struct {
	*table
	hub, spoke *tree
	copies     [][2]int // hub field, spoke field
	reshapes   []boundRow
	structs    []boundStruct
	moved      []movedAnnotation
	versions   []string // all versions of the kind
}

const annotationPath = "metadata.annotations["

// compile resolves every path of a table once, at start-up.
func compile(t *table) *compiled {
	c := &compiled{table: t, hub: newTree(hubVersion), spoke: newTree(t.version)}
	for i := range t.rows {
		if t.rows[i].spoke == "" {
			continue
		}
		if !strings.HasPrefix(t.rows[i].hub, annotationPath) {
			c.hub.add(t.rows[i].hub)
		}
		for _, path := range strings.Fields(t.rows[i].spoke) {
			c.spoke.add(path)
		}
	}
	c.hub.number()
	c.spoke.number()
	c.hub.spec.twin, c.spoke.spec.twin = c.spoke.spec, c.hub.spec
	c.hub.status.twin, c.spoke.status.twin = c.spoke.status, c.hub.status
	for i := range t.rows {
		c.bind(&t.rows[i])
	}
	for _, s := range t.structs {
		bound := boundStruct{hub: c.hub.at(s.hub), unless: s.unless}
		for _, path := range s.shown {
			bound.shown = append(bound.shown, c.spoke.at(path))
		}
		for _, path := range s.also {
			bound.also = append(bound.also, c.spoke.at(path))
		}
		c.structs = append(c.structs, bound)
	}
	return c
}

func (c *compiled) bind(r *row) {
	if r.spoke == "" {
		return
	}
	var spoke []int
	for _, path := range strings.Fields(r.spoke) {
		spoke = append(spoke, c.spoke.at(path).field)
	}
	switch key, moved := strings.CutPrefix(r.hub, annotationPath); {
	case moved:
		c.moved = append(c.moved, movedAnnotation{key: strings.TrimSuffix(key, "]"), field: spoke[0]})
	case r.how == nil:
		c.copies = append(c.copies, [2]int{c.hub.at(r.hub).field, spoke[0]})
	default:
		c.reshapes = append(c.reshapes, boundRow{row: r, hub: []int{c.hub.at(r.hub).field}, spoke: spoke})
	}
}

func newTree(version string) *tree {
	t := &tree{version: version, spec: newNode(nil, "spec"), status: newNode(nil, "status")}
	t.status.passes = true
	return t
}

func newNode(parent *node, name string) *node {
	n := &node{name: name, path: name, parent: parent, quoted: append(appendQuoted(nil, []byte(name)), ':')}
	if parent != nil {
		n.path = parent.path + "." + name
	}
	return n
}

func (t *tree) root(name string) *node {
	if name == "status" {
		return t.status
	}
	return t.spec
}

func (t *tree) add(path string) {
	names := strings.Split(path, ".")
	n := t.root(names[0])
	for _, name := range names[1:] {
		child := n.byName[name]
		if child == nil {
			child = newNode(n, name)
			n.adopt(child)
		}
		n = child
	}
}

func (n *node) adopt(child *node) {
	n.children = append(n.children, child)
	if n.byName == nil {
		n.byName = map[string]*node{}
	}
	n.byName[child.name] = child
	length := len(child.quoted) - len(":")
	for len(n.byLength) <= length {
		n.byLength = append(n.byLength, nil)
	}
	n.byLength[length] = append(n.byLength[length], child)
}

// at returns the node at a path, nil if the table does not know it.
func (t *tree) at(path string) *node {
	names := strings.Split(path, ".")
	n := t.root(names[0])
	for _, name := range names[1:] {
		if n = n.byName[name]; n == nil {
			return nil
		}
	}
	return n
}

func (t *tree) number() {
	t.numberFrom(t.spec)
	t.numberFrom(t.status)
}

func (t *tree) numberFrom(n *node) {
	n.first, n.field, n.box = len(t.fields), -1, -1
	if len(n.children) == 0 && n.parent != nil {
		n.field = len(t.fields)
		t.fields = append(t.fields, n)
	} else {
		n.box = len(t.boxes)
		t.boxes = append(t.boxes, n)
		for _, child := range n.children {
			t.numberFrom(child)
		}
	}
	n.last = len(t.fields)
}
