package conversion

import (
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// metadata is what conversion reads of an object's metadata: it changes annotations, drops managedFields, which the API
// server restores, and copies the rest.
type metadata struct {
	members       []member // other than annotations and managedFields
	managedFields []byte

	annotations []byte            // as written, nil if absent
	others      []member          // annotations that are not ours
	ours        bool              // there were annotations of ours
	keptFields  ownText           // the annotation with fields that only the hub has
	originals   ownText           // the annotation with parked values
	ownTexts    []byte            // memory for their texts
	moved       map[string][]byte // annotations that are fields in the spoke, by key

	added  []member // annotations for the destination, from moved fields
	parked []member // annotations of the source that the destination cannot have
	lost   bool     // it was neither an object nor null

	// original is how the destination's annotations were written when there were none: {} or null.
	original []byte
}

// ownText is an annotation of ours.
type ownText struct {
	found bool
	text  []byte // nil if it is not a string
}

func (m *metadata) reset() {
	clear(m.members)
	clear(m.others)
	clear(m.moved)
	*m = metadata{members: m.members[:0], others: m.others[:0], moved: m.moved, added: m.added[:0], parked: m.parked[:0], ownTexts: m.ownTexts[:0]}
}

// read takes the metadata at the cursor apart. Metadata that is no object is the same as none, and lost unless it is null.
func (m *metadata) read(c *cursor, moved []movedAnnotation) {
	m.reset()
	if c.peek() != '{' {
		m.lost = !isNull(c.value())
		return
	}
	for c.enter(); c.more('}'); {
		name := c.name()
		switch string(plain(name)) {
		case "managedFields":
			m.managedFields = c.value()
		case "annotations":
			m.readAnnotations(c, moved)
		default:
			m.members = append(m.members, member{name: name, value: c.value()})
		}
	}
}

func (m *metadata) readAnnotations(c *cursor, moved []movedAnnotation) {
	clear(m.moved)
	m.others, m.ours, m.keptFields, m.originals = m.others[:0], false, ownText{}, ownText{}
	if c.peek() != '{' {
		m.annotations = c.value()
		return
	}
	start := c.at
	for c.enter(); c.more('}'); {
		name := c.name()
		switch key := plain(name); string(key) {
		case workloadv1.AnnotationV1Fields:
			m.ours, m.keptFields = true, m.readOwn(c)
		case workloadv1.AnnotationUnconvertible:
			m.ours, m.originals = true, m.readOwn(c)
		default:
			if value := c.value(); !m.readMoved(key, value, moved) {
				m.others = append(m.others, member{name: name, value: value})
			}
		}
	}
	m.annotations = c.text[start:c.at]
}

func (m *metadata) readOwn(c *cursor) ownText {
	if c.peek() != '"' {
		c.value()
		return ownText{found: true}
	}
	start := len(m.ownTexts)
	m.ownTexts = c.unquoted(m.ownTexts)
	return ownText{found: true, text: m.ownTexts[start:len(m.ownTexts):len(m.ownTexts)]}
}

func (m *metadata) readMoved(key, value []byte, moved []movedAnnotation) bool {
	for _, row := range moved {
		if string(key) == row.key {
			if m.moved == nil {
				m.moved = map[string][]byte{}
			}
			m.moved[row.key] = value
			return true
		}
	}
	return false
}

// writeMetadata appends the destination's metadata.
func (r *run) writeMetadata(dst []byte) []byte {
	dst = append(dst, '{')
	for _, m := range r.meta.members {
		dst = appendMember(dst, m.name, m.value)
	}
	if r.keepManagedFields && r.meta.managedFields != nil {
		dst = appendMember(dst, []byte(`"managedFields"`), r.meta.managedFields)
	}
	return closeObject(r.writeAnnotations(dst))
}

// writeAnnotations appends the destination's annotations, if it has any or the source said that it has none.
func (r *run) writeAnnotations(dst []byte) []byte {
	r.renderParked()
	r.fitBudget()
	m := &r.meta
	if m.lost {
		r.lose("metadata", noObject)
	}
	if len(m.others)+len(m.added)+len(r.keptText)+len(r.parkedText) == 0 {
		switch {
		case m.original != nil:
			return appendMember(dst, []byte(`"annotations"`), m.original)
		case m.annotations != nil && !m.ours && len(m.moved) == 0:
			return appendMember(dst, []byte(`"annotations"`), m.annotations)
		}
		return dst
	}
	dst = append(dst, `"annotations":{`...)
	for _, m := range m.others {
		dst = appendMember(dst, m.name, m.value)
	}
	for _, m := range m.added {
		dst = appendMember(dst, m.name, m.value)
	}
	dst = appendAnnotation(dst, workloadv1.AnnotationV1Fields, r.keptText)
	dst = appendAnnotation(dst, workloadv1.AnnotationUnconvertible, r.parkedText)
	return append(closeObject(dst), ',')
}

func appendAnnotation(dst []byte, key string, text []byte) []byte {
	if len(text) == 0 {
		return dst
	}
	dst = append(append(append(dst, '"'), key...), `":`...)
	return append(appendQuoted(dst, text), ',')
}
