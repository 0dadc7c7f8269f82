package conversion

// moved is the reshape of a hub annotation that is a field of the spoke. It is moved, not copied. An annotation of that
// key on the spoke object is somebody else's: it is parked while the object is in the hub's form.
var moved = &reshape{name: "moved annotation"}

// moveAnnotation runs a row with the reshape moved.
func (r *run) moveAnnotation(m movedAnnotation) {
	annotation := r.meta.moved[m.key]
	if r.direction == down {
		field := r.to.fields[m.field]
		switch original := r.originals.fields[field.field]; {
		case isString(annotation):
			r.dst[m.field] = annotation
		case original != nil && annotation == nil && !isString(original):
			r.dst[m.field] = original
		}
		if annotation != nil && !isString(annotation) {
			r.meta.others = append(r.meta.others, member{quotedKey(m.key), annotation})
		}
		return
	}
	text := r.src.fields[m.field]
	if text != nil && !isString(text) {
		r.quarantine(r.from.fields[m.field], text, "is not a string")
	}
	if isString(text) {
		r.meta.added = append(r.meta.added, member{quotedKey(m.key), text})
	}
	if annotation != nil {
		r.meta.parked = append(r.meta.parked, member{quotedKey(m.key), annotation})
	}
}

// onlyMoved reports whether the source's spec holds nothing but fields that became annotations, so that the hub object
// had no spec.
func (r *run) onlyMoved(n *node) bool {
	spec := r.from.spec
	if r.direction == down || n != r.to.spec || len(r.meta.added) == 0 || r.originals.object(n) || r.src.boxes[spec.box].extra != 0 {
		return false
	}
	for _, child := range spec.children {
		if child.box >= 0 && r.src.boxes[child.box].state != boxAbsent {
			return false
		}
	}
	return count(r.src.fields[spec.first:spec.last]) == len(r.meta.added)
}

// wroteOnlyMoved reports whether the spec just written holds nothing but fields that were annotations.
func (r *run) wroteOnlyMoved() bool {
	length := 0
	for _, m := range r.moved {
		if value := r.dst[m.field]; isString(value) {
			length += len(r.to.fields[m.field].quoted) + len(value) + len(",")
		}
	}
	return length > 0 && len(r.body) == len(r.to.spec.quoted)+len("{")+length+len(",")
}

func count(values [][]byte) (n int) {
	for _, value := range values {
		if value != nil {
			n++
		}
	}
	return n
}

func quotedKey(key string) []byte { return appendQuoted(nil, []byte(key)) }
