package main

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// document is one document of a stream. Prefix and body of all documents, in order, are the stream byte for byte.
type document struct {
	prefix []byte // what precedes the content: markers, directives, comments, blank lines, the end of the document before
	body   []byte // the content; empty only for what follows the last document
	tail   []byte // comments cut off from the end of the body
	json   bool   // the body is a JSON value
	number int    // counts from 1; 0 for what follows the last document
	line   int    // the line of the stream the body begins on, from 1

	broken  error // the body begins with JSON values, but does not go on as they do
	changed bool  // the body is not that of the input
}

// parse reads the document as YAML.
func (d *document) parse() (*yaml.Node, error) {
	if d.broken != nil {
		return nil, d.broken
	}
	text, line := d.content()
	return parseYAML(text, line)
}

// empty reports whether there is no object in a document, as kubectl sees it: a null is nothing, too.
func (d *document) empty() bool {
	text := string(bytes.TrimSpace(d.body))
	return text == "" || text == "null" || text == "~"
}

var byteOrderMark = []byte("\ufeff")

// split takes a stream of YAML documents, JSON values, or both apart. It looks only at lines that YAML gives a meaning
// wherever they are: a line that begins with "---" or "..." is never inside of a value.
func split(text []byte) []document {
	s := splitter{line: 1}
	if bytes.HasPrefix(text, byteOrderMark) {
		s.current.prefix, text = bytes.Clone(byteOrderMark), text[len(byteOrderMark):]
	}
	for line := range bytes.Lines(text) {
		s.add(line)
		s.line++
	}
	s.finish()
	if len(s.current.prefix) > 0 {
		s.documents = append(s.documents, s.current)
	}
	return s.documents
}

type splitter struct {
	documents []document
	current   document
	line      int
	marked    bool // the current document has its marker, so that a % is no directive any more
}

func (s *splitter) add(line []byte) {
	switch {
	case isMarker(line, "---"):
		s.finish()
		s.marked = true
		rest := bytes.TrimLeft(line[3:], " \t")
		if blankOrComment(rest) {
			s.prefix(line)
			return
		}
		s.prefix(line[:len(line)-len(rest)])
		s.body(rest)
	case isMarker(line, "..."):
		s.finish()
		s.marked = false
		s.prefix(line)
	case len(s.current.body) == 0 && (blankOrComment(line) || line[0] == '%' && !s.marked):
		s.prefix(line)
	default:
		s.body(line)
	}
}

func (s *splitter) prefix(text []byte) { s.current.prefix = append(s.current.prefix, text...) }

func (s *splitter) body(text []byte) {
	if len(s.current.body) == 0 {
		s.current.line = s.line
	}
	s.current.body = append(s.current.body, text...)
}

// finish ends the current document if it has content. What has none precedes the next document.
func (s *splitter) finish() {
	if len(s.current.body) == 0 {
		return
	}
	values, rest := jsonValues(s.current)
	for _, d := range values {
		d.number = len(s.documents) + 1
		s.documents = append(s.documents, d)
	}
	s.current = document{prefix: rest}
}

// jsonValues takes a document apart that is a sequence of JSON objects and arrays, and returns what follows them. Any other
// document comes back as it is.
func jsonValues(d document) (values []document, rest []byte) {
	if first := bytes.TrimLeft(d.body, jsonSpace); first[0] != '{' && first[0] != '[' {
		return []document{d}, nil
	}
	decoder := jsontext.NewDecoder(bytes.NewBuffer(d.body), lenient...)
	prefix, line, last := d.prefix, d.line, 0
	for decoder.PeekKind() != 0 {
		value, err := decoder.ReadValue()
		if err != nil {
			d.broken = brokenJSON(len(values), d.body[last:], line)
			return []document{d}, nil
		}
		end := int(decoder.InputOffset())
		start := end - len(value)
		between := d.body[last:start]
		line += bytes.Count(between, newline)
		values = append(values, document{prefix: append(prefix, between...), body: d.body[start:end], json: true, line: line})
		line += bytes.Count(value, newline)
		prefix, last = nil, end
	}
	if rest = d.body[last:]; len(bytes.TrimLeft(rest, jsonSpace)) > 0 {
		return []document{d}, nil
	}
	return values, rest
}

// brokenJSON is the error for what follows n JSON values, nil if it does not look like another one.
func brokenJSON(n int, rest []byte, line int) error {
	value := bytes.TrimLeft(rest, jsonSpace)
	if n == 0 || len(value) == 0 || value[0] != '{' && value[0] != '[' {
		return nil
	}
	return fmt.Errorf("line %d: broken JSON, after %d values that can be read", line+bytes.Count(rest[:len(rest)-len(value)], newline), n)
}

const jsonSpace = " \t\r\n"

var newline = []byte("\n")

func isMarker(line []byte, marker string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(marker))
	return ok && (len(rest) == 0 || bytes.IndexByte([]byte(jsonSpace), rest[0]) >= 0)
}

func blankOrComment(line []byte) bool {
	rest := bytes.TrimLeft(line, jsonSpace)
	return len(rest) == 0 || rest[0] == '#'
}

// content returns what a parser has to see of a document, and the line it begins on: the body, and before it the directives if
// there are any.
func (d *document) content() (text []byte, firstLine int) {
	var directives []byte
	needed := false
	for line := range bytes.Lines(d.prefix) {
		switch {
		case line[0] == '%':
			needed = true
			directives = append(directives, line...)
		case isMarker(line, "---"):
			directives = append(directives, line...)
		default: // comments stay in the prefix, here they only count as lines
			directives = append(directives, '\n')
		}
	}
	if !needed {
		return d.body, d.line
	}
	return append(directives, d.body...), d.line - bytes.Count(directives, newline)
}
