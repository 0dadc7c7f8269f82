package main

import "bytes"

// stream is the output.
type stream struct {
	documents []document
	firsts    []bool // the document is the first one of its input
	findings  []finding
}

func (s *stream) add(d document, first bool) {
	s.documents = append(s.documents, d)
	s.firsts = append(s.firsts, first)
}

// values returns the stream as JSON values that follow each other without markers, and false if some of it is not JSON.
func (s *stream) values() ([]byte, bool) {
	var out bytes.Buffer
	for _, d := range s.documents {
		switch {
		case len(d.body) == 0:
		case !d.json:
			return nil, false
		default:
			out.Write(bytes.TrimRight(d.body, jsonSpace))
			out.WriteByte('\n')
		}
	}
	return out.Bytes(), true
}

// text returns the whole stream, with everything between the documents.
func (s *stream) text() []byte {
	var out bytes.Buffer
	var before document
	for i, d := range s.documents {
		if i > 0 && s.firsts[i] {
			endLine(&out)
			d.prefix = bytes.TrimPrefix(d.prefix, byteOrderMark)
		}
		writeAfter(&out, before, d)
		if len(d.body) > 0 || hasLine(d.prefix, isEnd) {
			before = d
		}
	}
	return out.Bytes()
}

// writeAfter writes a document that follows another one.
func writeAfter(out *bytes.Buffer, before, d document) {
	separator := separatorOf(before, d)
	if separator != "" {
		endLine(out)
		out.WriteString(separator)
	}
	becameYAML := d.changed && !d.json
	switch onlySpace := len(bytes.TrimLeft(d.prefix, jsonSpace)) == 0; {
	case onlySpace && (separator != "" || before.changed && !before.json):
	case becameYAML: // it begins at the margin of a line
		out.Write(bytes.TrimRight(d.prefix, " \t"))
		if !bytes.Equal(d.prefix, byteOrderMark) {
			endLine(out)
		}
	default:
		out.Write(d.prefix)
	}
	out.Write(d.body)
	out.Write(d.tail)
}

// separatorOf returns what has to stand between two documents that nothing separates, because they come from different inputs,
// or were JSON and one became YAML.
func separatorOf(before, d document) string {
	switch {
	case len(before.body) == 0 || len(d.body) == 0 || hasLine(d.prefix, isEnd):
		return ""
	case hasLine(d.prefix, isDirective):
		return "...\n"
	case hasLine(d.prefix, isStart) || before.json && d.json:
		return ""
	}
	return "---\n"
}

func endLine(out *bytes.Buffer) {
	if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
		out.WriteByte('\n')
	}
}

func isStart(line []byte) bool     { return isMarker(line, "---") }
func isEnd(line []byte) bool       { return isMarker(line, "...") }
func isDirective(line []byte) bool { return line[0] == '%' }

func hasLine(prefix []byte, is func(line []byte) bool) bool {
	for line := range bytes.Lines(prefix) {
		if is(line) {
			return true
		}
	}
	return false
}
