package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

var errHalfPair = errors.New("a text with half of a surrogate pair, which YAML cannot hold; use -o json")

// nodesOf returns a JSON value as YAML.
func nodesOf(value []byte) (*yaml.Node, error) {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true))
	n, err := readNode(decoder)
	if err != nil {
		return nil, errHalfPair // all else was read before
	}
	return n, nil
}

func readNode(decoder *jsontext.Decoder) (*yaml.Node, error) {
	token, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return readMapping(decoder)
	case '[':
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for decoder.PeekKind() != ']' {
			element, err := readNode(decoder)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, element)
		}
		_, err := decoder.ReadToken()
		return flowIfEmpty(n), err
	case '"':
		return stringNode(token.String()), nil
	case '0':
		return numberNode(token.String()), nil
	case 'n':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: token.String()}, nil
}

// readMapping reads the members of an object; the last one counts if a name repeats.
func readMapping(decoder *jsontext.Decoder) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	index := map[string]int{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := readNode(decoder)
		if err != nil {
			return nil, err
		}
		if at, again := index[key]; again {
			n.Content[at] = value
			continue
		}
		n.Content = append(n.Content, stringNode(key), value)
		index[key] = len(n.Content) - 1
	}
	_, err := decoder.ReadToken()
	return flowIfEmpty(n), err
}

// flowIfEmpty writes {} and [], for which the other style has no form.
func flowIfEmpty(n *yaml.Node) *yaml.Node {
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	return n
}

var (
	// misread are texts that some reader of YAML takes for something else: numbers, numbers to the base of 60, dates, merges.
	misread = regexp.MustCompile(`^([-+.]?[0-9][-+0-9_,.:]*([eE][-+]?[0-9]*)?|0[xob][0-9a-fA-F_]*|[-+]?\.(inf|Inf|INF|nan|NaN|NAN)|[yYnN=~]|<<)$`)

	// unsafeInBlocks are characters that a literal block changes or hides.
	unsafeInBlocks = regexp.MustCompile(`[^\n\x20-\x7e\x{a0}-\x{2027}\x{2030}-\x{d7ff}\x{e000}-\x{fefe}\x{ff00}-\x{fffd}\x{10000}-\x{10ffff}]`)
)

// stringNode writes a text such that every reader takes it for a text.
func stringNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	_, isWord := words[text]
	_, isNumber, err := jsonNumber(text)
	if isWord || isNumber || err != nil || misread.MatchString(text) || unsafeInBlocks.MatchString(text) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// numberNode writes a number with its digits. One that kubectl would take for a text, because it is too large, says what it is.
func numberNode(number string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: number}
	if strings.ContainsAny(number, ".eE") {
		n.Tag = "!!float"
	}
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		n.Tag, n.Style = "!!float", yaml.TaggedStyle
		return n
	}
	n.Tag = "" // whatever it is, it needs no tag
	return n
}

// layout is how a YAML document is written.
type layout struct {
	indent  int
	indents bool // lists inside of mappings are indented
	crlf    bool // lines end with a carriage return and a line feed
}

var kubectlLayout = layout{indent: 2}

// layoutOf returns how a document is written, as its first nested values show it.
func layoutOf(root *yaml.Node, text []byte) layout {
	l := kubectlLayout
	end := bytes.IndexByte(text, '\n')
	l.crlf = end > 0 && text[end-1] == '\r'
	var foundMapping, foundList bool
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 1 && child.Style&yaml.FlowStyle == 0 && child.Line > n.Content[i-1].Line {
				step := child.Column - n.Content[i-1].Column
				switch {
				case child.Kind == yaml.MappingNode && !foundMapping && step > 1 && step < 10:
					l.indent, foundMapping = step, true
				case child.Kind == yaml.SequenceNode && !foundList:
					l.indents, foundList = step > 0, true
				}
			}
			visit(child)
		}
	}
	visit(root)
	return l
}

// renderYAML writes a value as a YAML document: from nodes, with their comments and styles, if that reads back as the same value,
// and without them otherwise.
func renderYAML(value []byte, nodes *yaml.Node, l layout) ([]byte, error) {
	if text, err := encode(nodes, l); err == nil && readsAs(text, value) {
		return text, nil
	}
	plain, err := nodesOf(value)
	if err != nil {
		return nil, err
	}
	quoteAll(plain)
	text, err := encode(plain, l)
	if err != nil {
		return nil, err
	}
	if !readsAs(text, value) {
		return nil, errors.New("this object cannot be written as YAML; use -o json")
	}
	return text, nil
}

func encode(n *yaml.Node, l layout) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(l.indent)
	if !l.indents {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(n); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("writing YAML: %w", err)
	}
	if l.crlf {
		return bytes.ReplaceAll(out.Bytes(), newline, []byte("\r\n")), nil
	}
	return out.Bytes(), nil
}

// readsAs reports whether YAML text means a JSON value.
func readsAs(text, value []byte) bool {
	root, err := parseYAML(text, 1)
	if err != nil {
		return false
	}
	again, repeated, err := toJSON(root)
	return err == nil && len(repeated) == 0 && equalJSON(again, value)
}

func equalJSON(a, b []byte) bool {
	left, errLeft := decodeJSON(a)
	right, errRight := decodeJSON(b)
	return errLeft == nil && errRight == nil && reflect.DeepEqual(left, right)
}

func quoteAll(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range n.Content {
		quoteAll(child)
	}
}

// stringOf returns what a JSON string means.
func stringOf(text []byte) string {
	var value string
	if json.Unmarshal(text, &value) != nil {
		return string(text)
	}
	return value
}
