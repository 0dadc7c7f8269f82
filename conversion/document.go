package conversion

// document is one object taken apart along a tree: the values of the fields the table knows, the structs on the way to
// them, and the members no row names.
type document struct {
	fields [][]byte // by field number; nil if absent
	boxes  []box    // by struct number
	extras []extra
}

// box is what was found where the tree has a struct.
type box struct {
	state boxState
	value []byte // what is there instead of an object

	// extra is the first of the struct's unknown members, last the latest; both are 1 more than the index, 0 for none.
	extra, last int
}

type boxState uint8

const (
	boxAbsent boxState = iota
	boxObject
	boxOther // a value of another type
)

// extra is a member that the table does not know.
type extra struct {
	member
	next int // 1 more than the index of the next one in the same struct, 0 for none
}

// reset makes the document empty and fit for a tree.
func (d *document) reset(t *tree) {
	d.fields = cleared(d.fields, len(t.fields))
	d.boxes = cleared(d.boxes, len(t.boxes))
	clear(d.extras)
	d.extras = d.extras[:0]
}

// cleared returns a slice of n zero values, in the old one's memory if it fits.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// untouched reports whether there is nothing in the document.
func (d *document) untouched() bool {
	for i := range d.boxes {
		if d.boxes[i].state != boxAbsent {
			return false
		}
	}
	return len(d.extras) == 0 && count(d.fields) == 0
}

// walk reads the value at the cursor into the place of n. If a name repeats, the last one counts.
func (d *document) walk(c *cursor, n *node) {
	if n.box < 0 {
		d.fields[n.field] = c.value()
		return
	}
	if d.boxes[n.box].state != boxAbsent {
		d.forget(n)
	}
	if c.peek() != '{' {
		d.boxes[n.box] = box{state: boxOther, value: c.value()}
		return
	}
	d.boxes[n.box].state = boxObject
	for c.enter(); c.more('}'); {
		name := c.name()
		if child := n.child(name); child != nil {
			d.walk(c, child)
		} else {
			d.add(n, member{name: name, value: c.value()})
		}
	}
}

// child returns the node of a member by its name as written, nil if the table does not know it.
func (n *node) child(name []byte) *node {
	if len(name) < len(n.byLength) {
		for _, child := range n.byLength[len(name)] {
			if string(child.quoted[:len(name)]) == string(name) {
				return child
			}
		}
	}
	if hasEscape(name) {
		return n.byName[string(plain(name))]
	}
	return nil
}

// add adds an unknown member. Its name is brought to its shortest spelling, so that equal names are equal bytes.
func (d *document) add(n *node, m member) {
	if hasEscape(m.name) {
		m.name = appendNormal(nil, m.name)
	}
	c := &d.boxes[n.box]
	d.extras = append(d.extras, extra{member: m})
	added := len(d.extras)
	if c.extra == 0 {
		c.extra = added
	} else {
		d.extras[c.last-1].next = added
	}
	c.last = added
}

// forget drops everything at and below n.
func (d *document) forget(n *node) {
	clear(d.fields[n.first:n.last])
	d.forgetBoxes(n)
}

func (d *document) forgetBoxes(n *node) {
	d.boxes[n.box] = box{}
	for _, child := range n.children {
		if child.box >= 0 {
			d.forgetBoxes(child)
		}
	}
}

// object reports whether the document has an object at n.
func (d *document) object(n *node) bool { return d.boxes[n.box].state == boxObject }

// empty reports whether the document has an object at n with nothing in it.
func (d *document) empty(n *node) bool {
	if !d.object(n) || d.boxes[n.box].extra != 0 {
		return false
	}
	for _, child := range n.children {
		if child.box >= 0 && d.boxes[child.box].state != boxAbsent || child.box < 0 && d.fields[child.field] != nil {
			return false
		}
	}
	return true
}

// each calls f for every unknown member of a struct.
func (d *document) each(n *node, f func(member)) {
	for i := d.boxes[n.box].extra; i > 0; i = d.extras[i-1].next {
		f(d.extras[i-1].member)
	}
}

// without drops the unknown members of a struct that f reports.
func (d *document) without(n *node, f func(member) bool) {
	first := d.boxes[n.box].extra
	d.boxes[n.box].extra, d.boxes[n.box].last = 0, 0
	for i := first; i > 0; {
		m, next := d.extras[i-1].member, d.extras[i-1].next
		if !f(m) {
			d.add(n, m)
		}
		i = next
	}
}

// appendExtras appends every unknown member of a struct.
func (d *document) appendExtras(dst []member, n *node) []member {
	for i := d.boxes[n.box].extra; i > 0; i = d.extras[i-1].next {
		dst = append(dst, d.extras[i-1].member)
	}
	return dst
}
