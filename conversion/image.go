package conversion

import "bytes"

// imageParts is an image reference in the hub and its repository, tag and digest in the spoke. The parser is total:
// text that is no reference is all repository.
var imageParts = &reshape{name: "image parts", down: imageDown, up: imageUp}

// reference is an image reference in parts. A part that is nil is absent.
type reference struct {
	repository, tag, digest []byte
}

// parseReference splits a reference: the digest follows the first @, the tag the last colon after the last slash.
func parseReference(text []byte) reference {
	var ref reference
	rest := text
	if i := bytes.IndexByte(rest, '@'); i >= 0 {
		rest, ref.digest = rest[:i], rest[i+1:]
	}
	if i := bytes.LastIndexByte(rest, ':'); i > bytes.LastIndexByte(rest, '/') {
		rest, ref.tag = rest[:i], rest[i+1:]
	}
	ref.repository = rest
	if len(rest) == 0 || ref.tag != nil && len(ref.tag) == 0 || ref.digest != nil && len(ref.digest) == 0 {
		return reference{repository: text}
	}
	return ref
}

// append writes the reference as one text.
func (ref reference) append(dst []byte) []byte {
	dst = append(dst, ref.repository...)
	if len(ref.tag) > 0 {
		dst = append(append(dst, ':'), ref.tag...)
	}
	if len(ref.digest) > 0 {
		dst = append(append(dst, '@'), ref.digest...)
	}
	return dst
}

// composeImage puts the parts of a spoke image together, as JSON. Without parts there is no image and no reason.
func (r *run) composeImage(parts [3][]byte) (image []byte, reason string) {
	if count(parts[:]) == 0 {
		return nil, ""
	}
	if parts[0] == nil || isNull(parts[0]) {
		return nil, "has no repository"
	}
	var text [3][]byte
	for i, part := range parts {
		switch {
		case part == nil || isNull(part):
		case isString(part):
			text[i] = plain(part)
		default:
			return nil, "has a part that is not a string"
		}
	}
	start := len(r.scratch)
	r.scratch = reference{text[0], text[1], text[2]}.append(r.scratch)
	return r.quoted(r.scratch[start:]), ""
}

func imageDown(r *run, b *boundRow) {
	image := r.src.fields[b.hub[0]]
	var original [3][]byte
	for i, field := range b.spoke {
		original[i] = r.originals.fields[field]
	}
	if count(original[:]) > 0 {
		if meant, _ := r.composeImage(original); sameValue(meant, image) {
			r.setImage(b, original)
			return
		}
	}
	switch {
	case image == nil:
	case !isString(image):
		r.quarantine(r.from.fields[b.hub[0]], image, "is not a string")
	default:
		ref := parseReference(plain(image))
		var parts [3][]byte
		for i, text := range [][]byte{ref.repository, ref.tag, ref.digest} {
			if text != nil {
				parts[i] = r.quoted(text)
			}
		}
		r.setImage(b, parts)
	}
}

func (r *run) setImage(b *boundRow, parts [3][]byte) {
	for i, field := range b.spoke {
		r.dst[field] = parts[i]
	}
}

func imageUp(r *run, b *boundRow) {
	var parts [3][]byte
	for i, field := range b.spoke {
		parts[i] = r.src.fields[field]
	}
	image, reason := r.composeImage(parts)
	if original := r.originals.fields[b.hub[0]]; original != nil && count(parts[:]) == 0 && !isString(original) {
		r.dst[b.hub[0]] = original
	}
	if image != nil {
		r.dst[b.hub[0]] = image
		ref := parseReference(plain(image))
		if sameText(parts[0], ref.repository) && sameText(parts[1], ref.tag) && sameText(parts[2], ref.digest) {
			return
		}
	}
	for i, field := range b.spoke {
		if parts[i] != nil {
			r.parked.fields[field] = parts[i]
		}
	}
	if reason != "" {
		r.report(r.from.fields[b.spoke[0]].parent.path, reason)
	}
}

// sameText reports whether a JSON value is the string text, where nil is an absent value.
func sameText(value, text []byte) bool {
	if value == nil || text == nil {
		return value == nil && text == nil
	}
	return isString(value) && bytes.Equal(plain(value), text)
}
