package conversion

import (
	"bytes"
	"slices"
)

// settle decides about structs once the fields are done: which ones of the source the destination cannot say, which hidden
// parts belong to something that was removed in the spoke, and what is kept for the way back.
func (r *run) settle() {
	for _, n := range r.from.boxes {
		switch found := r.src.boxes[n.box]; {
		case found.state == boxOther:
			r.parked.boxes[n.box] = found
			if !isNull(found.value) {
				r.report(n.path, "is not an object")
			}
		case r.direction == up && n.twin == nil && r.src.empty(n):
			r.parked.boxes[n.box].state = boxObject
		}
	}
	for _, s := range r.structs {
		if r.direction == down {
			r.mark(s)
		} else {
			r.takeOver(s)
			r.gone[s.hub.box] = r.removed(s)
		}
	}
	if r.direction == down && r.src.object(r.from.spec) {
		r.keptText = r.appendSparse(r.keptText, r.from.spec, keptPart{r})
	}
}

// mark parks the mere presence of a struct that looks in the spoke as if it had been edited there, so that the way back can tell
// the two apart: one with hidden fields of which nothing shows is not removed, and one with an alternative to what shows did not get
// that in the spoke. Where something in it is parked anyway, it is named as well.
func (r *run) mark(s boundStruct) {
	if !r.src.object(s.hub) {
		return
	}
	alternative, shows := s.has(&r.src), r.showsAny(s.shown, r.dst)
	unseen := !shows && !r.showsAny(s.also, r.dst) && r.hides(s.hub)
	if alternative && shows || !alternative && unseen {
		r.parked.boxes[s.hub.box].state = boxObject
		r.unedited[s.hub.box] = true
	}
}

// wasMarked reports whether mark noted the struct.
func (r *run) wasMarked(s boundStruct) bool { return r.unedited[s.hub.box] || r.originals.empty(s.hub) }

// takeOver drops the hidden alternatives to something that the spoke shows and did not when the object was converted from the hub.
func (r *run) takeOver(s boundStruct) {
	if s.has(&r.kept) && !r.wasMarked(s) && r.showsAny(s.shown, r.src.fields) {
		r.kept.without(s.hub, s.names)
	}
}

// removed reports whether the spoke showed a struct once and does not any more.
func (r *run) removed(s boundStruct) bool {
	return r.kept.object(s.hub) && !s.has(&r.kept) && !r.wasMarked(s) &&
		!r.showsAny(s.shown, r.src.fields) && !r.showsAny(s.also, r.src.fields)
}

// has reports whether the hub struct has one of the fields that make it another struct than the one the spoke shows.
func (s boundStruct) has(hub *document) (found bool) {
	hub.each(s.hub, func(m member) { found = found || s.names(m) && !isNull(m.value) })
	return found
}

// names reports whether a member is one of the fields that make it another struct than the one the spoke shows.
func (s boundStruct) names(m member) bool { return slices.Contains(s.unless, string(plain(m.name))) }

// showsAny reports whether the spoke has any of some parts. As source, an empty struct of the spoke counts too.
func (r *run) showsAny(parts []*node, fields [][]byte) bool {
	for _, n := range parts {
		if n.box >= 0 && r.direction == up && r.src.object(n) || count(fields[n.first:n.last]) > 0 {
			return true
		}
	}
	return false
}

// hides reports whether there is something at or below a hub struct that the spoke cannot show.
func (r *run) hides(n *node) bool {
	if r.src.boxes[n.box].extra != 0 || r.src.empty(n) {
		return true
	}
	for _, child := range n.children {
		if child.box >= 0 && r.hides(child) {
			return true
		}
	}
	return false
}

// part is a part of the source that goes into an annotation, in the shape of the source.
type part interface {
	field(n *node) []byte             // the value at a field, nil for none
	extras(n *node) (*document, bool) // where the unknown members of a struct are, if they belong to the part
	instead(n *node) (value []byte)   // what is there instead of an object
	empty(n *node) (stands bool)      // whether the struct belongs to the part with nothing in it
}

// keptPart is what only the hub has: unknown members, the kept part of reshapes, and structs with nothing in them.
type keptPart struct{ *run }

func (p keptPart) field(n *node) []byte           { return p.kept.fields[n.field] }
func (p keptPart) extras(*node) (*document, bool) { return &p.src, true }
func (p keptPart) instead(*node) []byte           { return nil }
func (p keptPart) empty(n *node) bool {
	return n.twin == nil && p.src.empty(n) && !p.parked.object(n)
}

// parkedPart is what the destination cannot say.
type parkedPart struct{ *run }

func (p parkedPart) field(n *node) []byte   { return p.parked.fields[n.field] }
func (p parkedPart) instead(n *node) []byte { return p.parked.boxes[n.box].value }
func (p parkedPart) empty(n *node) bool     { return p.parked.object(n) }

func (p parkedPart) extras(n *node) (*document, bool) {
	if n.passes {
		return &p.parked, true
	}
	return &p.src, p.direction == up
}

// appendSparse appends what is in a part at and below a struct, or nothing.
func (r *run) appendSparse(dst []byte, n *node, p part) []byte {
	if value := p.instead(n); value != nil {
		return r.appendBounded(dst, n.path, value)
	}
	start := len(dst)
	dst = append(dst, '{')
	for _, child := range n.children {
		dst = r.appendSparseMember(dst, child, p)
	}
	if d, ok := p.extras(n); ok {
		dst = r.appendExtras(dst, d, n)
	}
	if len(dst) == start+1 && !p.empty(n) {
		return dst[:start]
	}
	return closeObject(dst)
}

// appendSparseMember appends what is in a part at a member of a struct, or nothing.
func (r *run) appendSparseMember(dst []byte, n *node, p part) []byte {
	before := len(dst)
	if n.box < 0 {
		value := p.field(n)
		if value == nil {
			return dst
		}
		dst = r.appendBounded(append(dst, n.quoted...), n.path, value)
	} else {
		if r.src.boxes[n.box].state == boxAbsent {
			return dst
		}
		dst = r.appendSparse(append(dst, n.quoted...), n, p)
	}
	if len(dst) == before+len(n.quoted) {
		return dst[:before]
	}
	return append(dst, ',')
}

// appendExtras appends the unknown members of a struct, sorted, since the order of an object is not always the same.
func (r *run) appendExtras(dst []byte, d *document, n *node) []byte {
	r.sorted = d.appendExtras(r.sorted[:0], n)
	if !slices.IsSortedFunc(r.sorted, byName) {
		slices.SortStableFunc(r.sorted, byName)
	}
	for _, m := range r.sorted {
		if deeperThan(m.value, maxValueDepth) {
			r.lose(n.path+"."+string(plain(m.name)), tooDeep)
			continue
		}
		dst = append(append(dst, m.name...), ':')
		dst = append(appendNormal(dst, m.value), ',')
	}
	return dst
}

func byName(a, b member) int { return bytes.Compare(a.name, b.name) }

const (
	// maxDepth is how deep an annotation of ours that is read may nest. The API server reads answers up to depth 10,000, and what
	// is in an annotation stands at most a few levels deeper in an answer, so that none can make one deeper than that.
	maxDepth = maxNesting - 10

	// maxValueDepth is how deep a value may nest that is written. An annotation has fewer than ten levels around it, so what is
	// written can also be read.
	maxValueDepth = maxDepth - 10
)

// appendBounded appends a value for an annotation; one that nests too deep is lost.
func (r *run) appendBounded(dst []byte, path string, value []byte) []byte {
	if deeperThan(value, maxValueDepth) {
		r.lose(path, tooDeep)
		return dst
	}
	return appendNormal(dst, value)
}

// Reasons of losses.
const (
	tooDeep  = "nests too deep to be written in the other version"
	tooLarge = "does not fit into the annotations that an object may have"
	noObject = "is not an object, and no converted object can have that"
	noText   = "is not a string, and has no place beside the annotation that the object gets"
)

func (r *run) lose(path, reason string) { r.result.Lost = append(r.result.Lost, Loss{path, reason}) }
