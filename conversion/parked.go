package conversion

import "slices"

// The annotation with parked values is an object by version: {"v1alpha1": {"spec": {"healthCheck": {"interval": "2m"}}}}
// says that the object in v1alpha1 had just these values there. A conversion reads the part of its destination, writes
// the part of its source, and carries those of other versions along. {"v1": {"absent": "spec"}} says that the object in v1 had no
// spec: what is one in the destination were annotations. {"v1": {"unedited": ["spec.probes.readiness"]}} names structs that look
// edited in the destination and are not.

// readAnnotations reads what earlier conversions left in the source's annotations.
func (r *run) readAnnotations() {
	kept, originals := r.meta.keptFields, r.meta.originals
	if r.override != nil {
		r.readOriginals(r.override.parked)
		if r.override.kept != nil {
			r.readKept(r.override.kept)
		}
		return
	}
	if originals.found {
		if text := originals.plain(); isObject(text) && validJSON(text) && !deeperThan(text, maxDepth) {
			r.readOriginals(text)
		} else {
			r.malformed()
		}
	}
	if r.direction == up && kept.found {
		r.readKept(kept.plain())
	}
}

// plain returns the text without compression and without white space before it; nil if there is none.
func (t ownText) plain() []byte {
	text, ok := expanded(t.text)
	if !ok {
		return nil
	}
	return text[afterSpace(text, 0):]
}

// readOriginals reads the values of the destination's version that were parked when the object was last converted from it.
func (r *run) readOriginals(text []byte) {
	if text == nil {
		return
	}
	c := cursor{text: text}
	for c.enter(); c.more('}'); {
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
	for c.enter(); c.more('}'); {
		switch name := c.key(); string(name) {
		case "spec":
			r.originals.walk(c, r.to.spec)
		case "status":
			r.originals.walk(c, r.to.status)
		case "metadata":
			r.readOriginalAnnotations(c.value())
		case "absent":
			r.specWasAbsent = string(c.value()) == `"spec"`
		case "unedited":
			r.readUnedited(c.value())
		default:
			c.value()
		}
	}
}

func (r *run) readUnedited(paths []byte) {
	if paths[0] != '[' {
		return
	}
	c := cursor{text: paths}
	for c.enter(); c.more(']'); {
		path := c.value()
		for _, s := range r.structs {
			if r.direction == up && isString(path) && string(plain(path)) == s.hub.path {
				r.unedited[s.hub.box] = true
			}
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
		if text := valueOf(annotations, m.key); isString(text) || isNull(text) && isString(r.meta.moved[m.key]) {
			r.meta.others = append(r.meta.others, member{quotedKey(m.key), text})
		}
	}
}

// readKept reads the fields that only the hub has. A view without spec has none. Text that is not the JSON of an object is
// ignored.
func (r *run) readKept(text []byte) {
	if !r.src.object(r.from.spec) {
		if !isObject(text) || !validJSON(text) {
			r.malformed()
		}
		return
	}
	c := cursor{text: text, depth: maxNesting - maxDepth}
	r.kept.walk(&c, r.to.spec)
	if !c.done() || !r.kept.object(r.to.spec) {
		r.kept.reset(r.to)
		r.malformed()
		return
	}
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
	if !r.parked.untouched() || r.direction == up && len(r.src.extras) > 0 {
		r.appendParked(r.from.spec)
		r.appendParked(r.from.status)
	}
	if r.specAbsent {
		r.parkedText = append(r.parkedText, `"absent":"spec",`...)
	}
	r.appendUnedited()
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

func (r *run) appendUnedited() {
	if r.direction == up {
		return
	}
	before := len(r.parkedText)
	r.parkedText = append(r.parkedText, `"unedited":[`...)
	named := len(r.parkedText)
	for _, s := range r.structs {
		if r.unedited[s.hub.box] && !r.parked.empty(s.hub) {
			r.parkedText = append(appendQuoted(r.parkedText, []byte(s.hub.path)), ',')
		}
	}
	if len(r.parkedText) == named {
		r.parkedText = r.parkedText[:before]
		return
	}
	r.parkedText[len(r.parkedText)-1] = ']'
	r.parkedText = append(r.parkedText, ',')
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
		r.lose("metadata.annotations", noObject)
	}
}

func isEmptyArray(array []byte) bool {
	c := cursor{text: array}
	c.enter()
	return !c.more(']')
}

func isEmptyObject(object []byte) bool {
	c := cursor{text: object}
	c.enter()
	return !c.more('}')
}
