package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// parseYAML reads the only document in text. firstLine is the line of the stream that text begins on, for errors.
func parseYAML(text []byte, firstLine int) (*yaml.Node, error) {
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&root); err != nil {
		return nil, withTabs(yamlError(err, firstLine), text)
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("line %d: content after the end of the document", firstLine)
	}
	if bareTag.Match(text) {
		markBareTags(&root, bytes.Split(text, newline))
	}
	return &root, nil
}

// bareTag is a "!" alone before a value, which says that the value is a text.
var bareTag = regexp.MustCompile(`(?m)(^|[\s,\[{])![ \t]`)

// markBareTags quotes plain values with such a tag, because the parser does not say that it was there.
func markBareTags(n *yaml.Node, lines [][]byte) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 && n.Line <= len(lines) {
		line := []rune(string(lines[n.Line-1]))
		if at := n.Column - 1; at+1 < len(line) && line[at] == '!' {
			n.Style, n.Tag = yaml.DoubleQuotedStyle, "!!str"
		}
	}
	for _, child := range n.Content {
		markBareTags(child, lines)
	}
}

// withTabs adds to an error what is most often the cause of it.
func withTabs(err error, text []byte) error {
	if !tabIndent.Match(text) {
		return err
	}
	return fmt.Errorf("%w; tabs cannot indent YAML, use spaces", err)
}

var tabIndent = regexp.MustCompile(`(?m)^ *\t+[^\s#]`)

var lineInError = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// yamlError counts lines from the beginning of the stream.
func yamlError(err error, firstLine int) error {
	message := err.Error()
	found := lineInError.FindStringSubmatch(message)
	if found == nil {
		return err
	}
	line := firstLine
	if number, err := strconv.Atoi(found[1]); err == nil {
		line += number - 1
	}
	return fmt.Errorf("line %d: %s", line, message[len(found[0]):])
}

// aliasLimit bounds what the aliases of a document may expand to, in bytes of JSON.
const aliasLimit = 8 << 20

// jsonWriter writes YAML as the JSON that kubectl would send.
type jsonWriter struct {
	out      []byte
	open     map[*yaml.Node]bool // aliased values being written, to find one that contains itself
	start    int                 // where the outermost of them begins in out
	expanded int                 // bytes written for aliases before it
	merges   int                 // mappings merged into others
	path     []string            // what leads to the value being written: names with a dot before, and indexes
	repeated []repetition        // where a key comes twice in a mapping
}

// repetition is a key that comes again in a mapping. The last one counts.
type repetition struct {
	line int
	path string // of the key in the document
	name string
}

func (r repetition) String() string {
	return fmt.Sprintf("line %d: key %q comes again; the last one counts", r.line, r.name)
}

// toJSON returns a document as JSON, and the keys that come twice in a mapping.
func toJSON(n *yaml.Node) (object []byte, repeated []repetition, err error) {
	w := jsonWriter{open: map[*yaml.Node]bool{}}
	err = w.write(n)
	return w.out, w.repeated, err
}

func (w *jsonWriter) write(n *yaml.Node) error {
	switch n.Kind {
	case yaml.DocumentNode:
		return w.write(n.Content[0])
	case yaml.AliasNode:
		return w.writeAlias(n)
	case yaml.MappingNode:
		return w.writeMapping(n)
	case yaml.SequenceNode:
		return w.writeSequence(n)
	}
	text, err := literal(n)
	if errors.Is(err, errNotFinite) {
		return fmt.Errorf("line %d: %q: %w", n.Line, n.Value, err)
	}
	w.out = append(w.out, text...)
	return err
}

func (w *jsonWriter) writeAlias(n *yaml.Node) error {
	if w.open[n.Alias] {
		return fmt.Errorf("line %d: *%s stands inside of what it stands for", n.Line, n.Value)
	}
	outermost := len(w.open) == 0
	if outermost {
		w.start = len(w.out)
	}
	w.open[n.Alias] = true
	err := w.write(n.Alias)
	delete(w.open, n.Alias)
	written := len(w.out) - w.start
	if w.expanded+written > aliasLimit {
		return fmt.Errorf("line %d: aliases expand to more than %d MiB", n.Line, aliasLimit>>20)
	}
	if outermost {
		w.expanded += written
	}
	return err
}

func (w *jsonWriter) writeSequence(n *yaml.Node) error {
	w.out = append(w.out, '[')
	for i, element := range n.Content {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if err := w.writeInside("["+strconv.Itoa(i)+"]", element); err != nil {
			return err
		}
	}
	w.out = append(w.out, ']')
	return nil
}

func (w *jsonWriter) writeMapping(n *yaml.Node) error {
	pairs, err := w.pairsOf(n)
	if err != nil {
		return err
	}
	w.out = append(w.out, '{')
	for i, p := range pairs {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if w.out, err = jsontext.AppendQuote(w.out, p.name); err != nil {
			return err
		}
		w.out = append(w.out, ':')
		if err := w.writeInside("."+p.name, p.value); err != nil {
			return err
		}
	}
	w.out = append(w.out, '}')
	return nil
}

// writeInside writes what is at a step inside of the value being written.
func (w *jsonWriter) writeInside(step string, n *yaml.Node) error {
	w.path = append(w.path, step)
	err := w.write(n)
	w.path = w.path[:len(w.path)-1]
	return err
}

// pair is a key of a mapping with its value.
type pair struct {
	name       string
	key, value *yaml.Node
}

// mergeLimit bounds how many mappings are merged in a document, each time counted.
const mergeLimit = 10000

// pairsOf returns what is in a mapping, with what it merges. A key that comes again takes the place of the first one, merged
// or not, as kubectl reads it.
func (w *jsonWriter) pairsOf(n *yaml.Node) ([]pair, error) {
	var pairs []pair
	index, own := map[string]int{}, map[string]bool{}
	put := func(p pair) {
		if at, again := index[p.name]; again {
			pairs[at] = p
			return
		}
		index[p.name] = len(pairs)
		pairs = append(pairs, p)
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if isMerge(key) {
			merged, err := w.mergedPairs(value)
			if err != nil {
				return nil, err
			}
			for _, p := range merged {
				put(p)
			}
			continue
		}
		name, err := keyName(key)
		if err != nil {
			return nil, err
		}
		if own[name] {
			path := strings.TrimPrefix(strings.Join(w.path, "")+"."+name, ".")
			w.repeated = append(w.repeated, repetition{line: key.Line, path: path, name: name})
		}
		own[name] = true
		put(pair{name: name, key: key, value: value})
	}
	return pairs, nil
}

func isMerge(key *yaml.Node) bool {
	return key.Kind == yaml.ScalarNode && key.Value == "<<" && isPlain(key) && key.ShortTag() == "!!merge"
}

// mergedPairs returns what a merge key brings in. Of several mappings the first one that has a key counts.
func (w *jsonWriter) mergedPairs(value *yaml.Node) ([]pair, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if w.merges++; w.merges > mergeLimit {
		return nil, fmt.Errorf("line %d: more than %d mappings are merged", value.Line, mergeLimit)
	}
	switch {
	case value.Kind == yaml.MappingNode:
		return w.pairsOf(value)
	case value.Kind != yaml.SequenceNode:
		return nil, fmt.Errorf("line %d: << needs a mapping or a list of mappings", value.Line)
	}
	var all []pair
	for i := len(value.Content) - 1; i >= 0; i-- {
		merged, err := w.mergedPairs(value.Content[i])
		if err != nil {
			return nil, err
		}
		all = append(all, merged...)
	}
	return all, nil
}
