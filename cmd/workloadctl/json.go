package main

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// lenient reads JSON as the API server does.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// span is where a value is in a text.
type span struct{ start, end int }

func (s span) of(text []byte) []byte { return text[s.start:s.end] }

// memberSpan finds the value of a member of a JSON object; the last one counts if the name repeats, as everywhere.
func memberSpan(object []byte, name string) (found span, ok bool) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(object), lenient...)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '{' {
		return found, false
	}
	for decoder.PeekKind() == '"' {
		token, err := decoder.ReadToken()
		if err != nil {
			return found, ok
		}
		wanted := token.String() == name
		value, err := decoder.ReadValue()
		if err != nil {
			return found, ok
		}
		if end := int(decoder.InputOffset()); wanted {
			found, ok = span{end - len(value), end}, true
		}
	}
	return found, ok
}

// spanAt finds a value by the names of the members that lead to it.
func spanAt(object []byte, names ...string) (span, bool) {
	found := span{0, len(object)}
	for _, name := range names {
		inner, ok := memberSpan(found.of(object), name)
		if !ok {
			return span{}, false
		}
		found = span{found.start + inner.start, found.start + inner.end}
	}
	return found, true
}

// stringAt returns the string at a path, empty if there is none.
func stringAt(object []byte, names ...string) string {
	found, ok := spanAt(object, names...)
	if !ok {
		return ""
	}
	var text string
	if json.Unmarshal(found.of(object), &text) != nil {
		return ""
	}
	return text
}

// elementSpans finds the elements of a JSON array; none if it is none.
func elementSpans(array []byte) (spans []span) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(array), lenient...)
	if token, err := decoder.ReadToken(); err != nil || token.Kind() != '[' {
		return nil
	}
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil
		}
		end := int(decoder.InputOffset())
		spans = append(spans, span{end - len(value), end})
	}
	return spans
}

// replaced returns text with another value at a place. text stays as it is.
func replaced(text []byte, at span, value []byte) []byte {
	return bytes.Join([][]byte{text[:at.start], value, text[at.end:]}, nil)
}

func quoted(text string) ([]byte, error) {
	return jsontext.AppendQuote(nil, text)
}

// decodeJSON returns a value with numbers as they are written.
func decodeJSON(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

// formatJSON lays a value out: with the indentation given, or on one line if that is empty.
func formatJSON(value []byte, indent string) ([]byte, error) {
	var out bytes.Buffer
	if indent == "" {
		err := json.Compact(&out, value)
		return out.Bytes(), err
	}
	err := json.Indent(&out, value, "", indent)
	return out.Bytes(), err
}

// kubectlIndent is how kubectl writes JSON.
const kubectlIndent = "    "

// indentOf returns the indentation a JSON document has; empty if it is on one line.
func indentOf(document []byte) string {
	_, rest, found := bytes.Cut(document, newline)
	if !found {
		return ""
	}
	if indent := rest[:len(rest)-len(bytes.TrimLeft(rest, " \t"))]; len(indent) > 0 {
		return string(indent)
	}
	return kubectlIndent
}
