package conversion

import (
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The annotation with parked values is an object by version: {"v1alpha1": {"spec": {"healthCheck": {"interval": "2m"}}}}
// says that the object in v1alpha1 had just these values there. A conversion reads the part of its destination, writes
// the part of its source, and carries those of other versions along.

// readAnnotations reads what earlier conversions left in the source's annotations.
func (r *run) readAnnotations() {
	kept, originals := r.meta.keptFields, r.meta.originals
	if r.override != nil {
		r.readOriginals(r.override.parked)
		r.readKept(r.override.kept)
		return
	}
	if originals != nil {
		text, ok := r.open(originals)
		if !ok {
			r.malformed()
		}
		r.readOriginals(text)
	}
	if r.direction == up && kept != nil {
		text, ok := r.open(kept)
		if !ok {
			r.malformed()
		}
		r.readKept(text)
	}
}

// open returns the JSON object in an annotation of ours; false if there is none.
func (r *run) open(annotation []byte) ([]byte, bool) {
	if !isString(annotation) {
		return nil, false
	}
	start := len(r.scratch)
	r.scratch = appendUnquoted(r.scratch, annotation)
	text, ok := expanded(r.scratch[start:len(r.scratch):len(r.scratch)])
	if !ok || !validJSON(text) || deeperThan(text, maxDepth) {
		return nil, false
	}
	c := cursor{text: text}
	return text, c.peek() == '{'
}

var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

func validJSON(text []byte) bool {
	return jsontext.Value(text).IsValid(lenient...)
}

// readOriginals reads the values of the destination's version that were parked when the object was last converted from it.
func (r *run) readOriginals(text []byte) {
	if text == nil {
		return
	}
	c := cursor{text: text}
	for c.enter(); c.more(); {
		version := c.name()
		switch name := string(plain(version)); {
		case name == r.to.version && c.peek() == '{':
			r.readOriginalsFrom(&c)
		case name != r.from.version && slices.Contains(r.versions, name):
			r.carried = append(r.carried, member{name: version, value: c.value()})
		default:
			c.value()
		}
	}
	r.dropUnfounded(r.to.spec)
	r.dropUnfounded(r.to.status)
}

func (r *run) readOriginalsFrom(c *cursor) {
	for c.enter(); c.more(); {
		switch name := c.key(); string(name) {
		case "spec":
			r.originals.walk(c, r.to.spec)
		case "status":
			r.originals.walk(c, r.to.status)
		case "metadata":
			r.readOriginalAnnotations(c.value())
		default:
			c.value()
		}
	}
}

// dropUnfounded forgets originals inside a spec or status that the source does not have.
func (r *run) dropUnfounded(n *node) {
	if r.src.object(n.twin) {
		return
	}
	found := r.originals.boxes[n.box]
	r.originals.forget(n)
	if found.state == boxOther {
		r.originals.boxes[n.box] = found
	}
}

// readOriginalAnnotations reads how the annotations were written when there were none, and an annotation that the hub moves
// into a field. Nothing else returns from here: what is no annotation would fail the whole request.
func (r *run) readOriginalAnnotations(metadata []byte) {
	annotations := valueOf(metadata, "annotations")
	if isNull(annotations) || isObject(annotations) && isEmptyObject(annotations) {
		r.meta.original = annotations
		return
	}
	if r.direction == up || !isObject(annotations) {
		return
	}
	for _, m := range r.moved {
		if text := valueOf(annotations, m.key); isString(text) {
			r.meta.others = append(r.meta.others, member{quotedKey(m.key), text})
		}
	}
}

// readKept reads the fields that only the hub has. A view without spec has none.
func (r *run) readKept(text []byte) {
	if text == nil || !r.src.object(r.from.spec) {
		return
	}
	r.kept.walk(&cursor{text: text}, r.to.spec)
	for _, n := range r.to.boxes {
		if r.kept.boxes[n.box].state == boxOther {
			r.malformed()
			return
		}
	}
}

// renderParked writes the annotation with parked values.
func (r *run) renderParked() {
	r.parkedText = append(r.parkedText, '{')
	r.parkedText = append(appendQuoted(r.parkedText, []byte(r.from.version)), ':', '{')
	content := len(r.parkedText)
	r.appendParked(r.from.spec)
	r.appendParked(r.from.status)
	empty := len(r.parkedText) == content
	r.appendParkedAnnotations(!empty || len(r.keptText) > 0)
	if len(r.parkedText) == content {
		r.parkedText = append(r.parkedText[:0], '{')
	} else {
		r.parkedText = append(closeObject(r.parkedText), ',')
	}
	for _, m := range r.carried {
		r.parkedText = appendMember(r.parkedText, m.name, m.value)
	}
	if len(r.parkedText) == 1 {
		r.parkedText = r.parkedText[:0]
		return
	}
	r.parkedText = closeObject(r.parkedText)
}

func (r *run) appendParked(n *node) {
	before := len(r.parkedText)
	r.parkedText = append(r.parkedText, n.quoted...)
	named := len(r.parkedText)
	if r.parkedText = r.appendSparse(r.parkedText, n, parkedPart{r}); len(r.parkedText) == named {
		r.parkedText = r.parkedText[:before]
		return
	}
	r.parkedText = append(r.parkedText, ',')
}

// appendParkedAnnotations parks annotations of the source that the destination cannot have, or, if the destination has
// some and the source wrote that it has none, how it wrote that.
func (r *run) appendParkedAnnotations(others bool) {
	m := &r.meta
	switch others = others || len(m.added) > 0 || len(r.carried) > 0; {
	case len(m.parked) > 0:
		r.parkedText = append(r.parkedText, `"metadata":{"annotations":{`...)
		for _, annotation := range m.parked {
			r.parkedText = appendMember(r.parkedText, annotation.name, annotation.value)
		}
		r.parkedText = append(closeObject(r.parkedText), '}', ',')
	case !others || m.annotations == nil:
	case isNull(m.annotations) || isObject(m.annotations) && isEmptyObject(m.annotations):
		r.parkedText = append(r.parkedText, `"metadata":{"annotations":`...)
		r.parkedText = append(append(r.parkedText, m.annotations...), '}', ',')
	case !isObject(m.annotations):
		r.lose("metadata.annotations")
	}
}

func isEmptyObject(object []byte) bool {
	c := cursor{text: object}
	c.enter()
	return !c.more()
}
