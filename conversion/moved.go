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
		case original != nil && !isString(original):
			r.dst[m.field] = original
		}
		if !isString(annotation) {
			r.keepAnnotation(m, annotation)
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
	switch {
	case isString(annotation), isNull(annotation) && isString(text):
		r.meta.parked = append(r.meta.parked, member{quotedKey(m.key), annotation})
	case annotation != nil && isString(text): // what is no text would fail the whole request if it returned from an annotation
		r.lose(annotationPath+m.key+"]", noText)
	default:
		r.keepAnnotation(m, annotation)
	}
}

// keepAnnotation leaves a value that is no text, and so none of ours, where it is.
func (r *run) keepAnnotation(m movedAnnotation, value []byte) {
	if value != nil {
		r.meta.others = append(r.meta.others, member{quotedKey(m.key), value})
	}
}

// onlyMoved reports whether the source's spec holds nothing but fields that became annotations, so that the hub object may have
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

// movedAny reports whether a field of the spoke was an annotation.
func (r *run) movedAny() bool {
	for _, m := range r.moved {
		if isString(r.dst[m.field]) {
			return true
		}
	}
	return false
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
