package conversion

import (
	"sync"
)

// direction says which side of a table is the source.
type direction bool

const (
	down direction = false // hub to spoke
	up   direction = true  // spoke to hub
)

// run is one conversion under way. What it works on are slices of the source, which is never written to.
type run struct {
	*compiled
	direction
	from, to *tree

	// src is the source. originals are the values of the destination's version that it carries, parked the source's own
	// values that the destination cannot say. kept is what only the hub has: read from the source on the way up; on the way
	// down only the kept part of a reshape is in it, the rest are the source's unknown members.
	src, kept, originals, parked document

	dst [][]byte // the destination's fields
	// unedited is by hub struct: it looks in the spoke as if it had been edited there, but so it came from the hub.
	unedited []bool
	gone     []bool // by hub struct: it was removed in the spoke, with everything in it

	meta metadata
	root []member // top-level members other than apiVersion, kind, metadata, spec and status

	body, scratch        []byte   // memory for output
	keptText, parkedText []byte   // values of our two annotations for the destination, empty for none
	carried              []member // parked values of third versions
	sorted               []member // memory for sorting

	variables []variable // memory for the env list
	entries   []envEntry // memory for the env map
	result    Result

	specAbsent    bool // the source has no spec and the destination has one, of annotations
	specWasAbsent bool // so it was when the source was last converted from the destination's version

	identities int // members of the source that say what it is

	unlimited         bool      // annotations may exceed the budget: the object is not for the API server
	keepManagedFields bool      // the object is not an answer to the API server's conversion request
	zeroIsAbsent      bool      // empty texts and zeros of the source's fields count as absent
	override          *leftover // in place of the source's own annotations
}

var runs = sync.Pool{New: func() any { return new(run) }}

func newRun(c *compiled, d direction) *run {
	r := runs.Get().(*run)
	r.compiled, r.direction = c, d
	r.from, r.to = c.hub, c.spoke
	if d == up {
		r.from, r.to = c.spoke, c.hub
	}
	r.src.reset(r.from)
	r.parked.reset(r.from)
	r.originals.reset(r.to)
	r.kept.reset(c.hub)
	r.dst = cleared(r.dst, len(r.to.fields))
	r.gone = cleared(r.gone, len(c.hub.boxes))
	r.unedited = cleared(r.unedited, len(c.hub.boxes))
	r.meta.reset()
	clear(r.root)
	r.root, r.body, r.scratch = r.root[:0], r.body[:0], r.scratch[:0]
	r.keptText, r.parkedText = r.keptText[:0], r.parkedText[:0]
	clear(r.carried)
	r.identities, r.specAbsent, r.specWasAbsent = 0, false, false
	r.carried = r.carried[:0]
	r.result, r.unlimited, r.keepManagedFields, r.zeroIsAbsent, r.override = Result{}, false, false, false, nil
	return r
}

// leftover is what a conversion leaves in annotations, as plain JSON; nil for nothing.
type leftover struct {
	kept, parked []byte
}

// release gives the memory of a run back. Nothing that came out of it may refer to the run afterwards.
func (r *run) release() {
	if cap(r.body)+cap(r.scratch)+cap(r.keptText)+cap(r.parkedText)+cap(r.meta.ownTexts) <= 1<<20 {
		runs.Put(r)
	}
}

// convert appends the object at the cursor, converted, to dst. The cursor ends after the object.
func (r *run) convert(dst []byte, c *cursor) []byte {
	r.read(c)
	r.readAnnotations()
	r.runRows()
	r.settle()
	r.writeBody()
	return r.writeObject(dst)
}

// read takes the source apart.
func (r *run) read(c *cursor) {
	for c.enter(); c.more('}'); {
		switch name := c.name(); string(plain(name)) {
		case "apiVersion", "kind":
			r.identities++
			c.value()
		case "metadata":
			r.meta.read(c, r.moved)
		case "spec":
			r.src.walk(c, r.from.spec)
		case "status":
			r.src.walk(c, r.from.status)
		default:
			r.root = append(r.root, member{name: name, value: c.value()})
		}
	}
	if r.zeroIsAbsent {
		for i, value := range r.src.fields {
			if string(value) == `""` || string(value) == "0" {
				r.src.fields[i] = nil
			}
		}
	}
}

// runRows fills the destination's fields.
func (r *run) runRows() {
	hub, spoke := 0, 1
	if r.direction == up {
		hub, spoke = 1, 0
	}
	for _, pair := range r.copies {
		r.dst[pair[spoke]] = r.src.fields[pair[hub]]
	}
	for i := range r.reshapes {
		if b := &r.reshapes[i]; r.direction == down {
			b.how.down(r, b)
		} else {
			b.how.up(r, b)
		}
	}
	for _, m := range r.moved {
		r.moveAnnotation(m)
	}
}

// writeBody writes spec and status of the destination.
func (r *run) writeBody() {
	r.write(r.to.spec)
	r.specAbsent = r.direction == down && r.src.boxes[r.from.spec.box].state == boxAbsent && r.movedAny()
	r.write(r.to.status)
}

// write appends the member of the destination at n, if there is one. A member ends with a comma, the last one's becomes
// the closing brace.
func (r *run) write(n *node) {
	if n.box < 0 {
		switch value := r.dst[n.field]; {
		case deeperThan(value, maxValueDepth): // it may stand deeper here than in the source
			r.lose(n.path, tooDeep)
		case value != nil:
			r.body = append(append(append(r.body, n.quoted...), value...), ',')
		}
		return
	}
	if r.direction == up && r.gone[n.box] {
		return
	}
	start := len(r.body)
	r.body = append(append(r.body, n.quoted...), '{')
	content := len(r.body)
	for _, child := range n.children {
		r.write(child)
	}
	r.writeExtras(n)
	switch {
	case len(r.body) > content:
		r.body[len(r.body)-1] = '}'
	case r.originals.boxes[n.box].state == boxOther && (!r.sourceTwin(n) || r.onlyMoved(n)):
		r.body = append(r.body[:content-1], r.originals.boxes[n.box].value...)
	case r.emptyStands(n):
		r.body = append(r.body, '}')
	default:
		r.body = r.body[:start]
		return
	}
	r.body = append(r.body, ',')
}

// sourceTwin reports whether the source has an object at the same place.
func (r *run) sourceTwin(n *node) bool { return n.twin != nil && r.src.object(n.twin) }

// emptyStands reports whether a struct of the destination that has nothing in it is there all the same.
func (r *run) emptyStands(n *node) bool {
	if n.twin != nil {
		return r.sourceTwin(n) && (!r.specWasAbsent || !r.onlyMoved(n))
	}
	return r.originals.empty(n) || r.direction == up && r.kept.empty(n)
}

// writeExtras appends the members of the destination's struct that no row names: what only the hub has, what was parked, and
// in status everything the source calls the same.
func (r *run) writeExtras(n *node) {
	switch {
	case n.passes:
		r.passExtras(n)
	case r.direction == up:
		r.kept.each(n, func(m member) { r.body = appendMember(r.body, m.name, m.value) })
	case r.direction == down:
		r.originals.each(n, func(m member) { r.body = appendMember(r.body, m.name, m.value) })
	}
}

// passExtras copies unknown members of the source under their own name, unless the destination has a field of that name;
// those are parked, and come back the same way.
func (r *run) passExtras(n *node) {
	r.src.each(n.twin, func(m member) {
		if n.child(m.name) == nil {
			r.body = appendMember(r.body, m.name, m.value)
		} else {
			r.parked.boxes[n.twin.box].state = boxObject
			r.parked.add(n.twin, m)
		}
	})
	r.originals.each(n, func(m member) {
		if n.twin.child(m.name) != nil {
			r.body = appendMember(r.body, m.name, m.value)
		}
	})
}

// writeObject appends the whole destination.
func (r *run) writeObject(dst []byte) []byte {
	dst = append(dst, `{"apiVersion":"`...)
	dst = append(dst, r.kind.Group...)
	dst = append(append(dst, '/'), r.to.version...)
	dst = append(append(dst, `","kind":"`...), r.kind.Kind...)
	dst = append(dst, `","metadata":`...)
	dst = r.writeMetadata(dst)
	r.result.KeptBytes = len(r.keptText)
	dst = append(append(dst, ','), r.body...)
	for _, m := range r.root {
		dst = appendMember(dst, m.name, m.value)
	}
	return closeObject(dst)
}

// quarantine parks a value of the source that cannot be read, and reports it. Null is a way to write nothing, and not
// reported.
func (r *run) quarantine(n *node, value []byte, reason string) {
	r.parked.fields[n.field] = value
	if !isNull(value) {
		r.report(n.path, reason)
	}
}

func (r *run) report(path, reason string) {
	r.result.Quarantined = append(r.result.Quarantined, Quarantined{Path: path, Reason: reason})
}

// malformed notes that an annotation of ours could not be read in full.
func (r *run) malformed() { r.result.Malformed++ }

// quoted returns text as a JSON string in memory of the run.
func (r *run) quoted(text []byte) []byte {
	start := len(r.scratch)
	r.scratch = appendQuoted(r.scratch, text)
	return r.scratch[start:len(r.scratch):len(r.scratch)]
}
