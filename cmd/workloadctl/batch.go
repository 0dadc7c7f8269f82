package main

import (
	"bytes"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// batch converts the documents of an input and collects what there is to say about them.
type batch struct {
	*convertOptions
	targets
	guide fieldGuide

	file               string
	warnings, findings []finding
	failures           []error
}

// convert returns a document, converted if something in it is to be.
func (b *batch) convert(d document) document {
	out, err := b.tryConvert(d)
	if err != nil {
		b.failures = append(b.failures, fmt.Errorf("%s: document %d: %w", b.file, d.number, err))
		return d
	}
	return out
}

func (b *batch) tryConvert(d document) (document, error) {
	switch {
	case len(d.body) == 0:
		return d, nil
	case d.json:
		converted, err := b.object(d, d.body)
		if err != nil || converted == nil {
			return d, err
		}
		return b.rendered(d, converted, nil)
	}
	root, err := d.parse()
	if err != nil || !b.concerned(root.Content[0], 0) {
		return d, err
	}
	object, repeated, err := toJSON(root)
	if err != nil {
		return d, err
	}
	converted, err := b.object(d, object)
	for _, one := range repeated {
		b.warnings = append(b.warnings, finding{File: b.file, Document: d.number, Kind: scalarText(valueOf(root.Content[0], "kind")), Message: one.String()})
	}
	if err != nil || converted == nil {
		return d, err
	}
	return b.rendered(withTail(d, object, &root), converted, root)
}

// withTail sets the comments after the content of a document aside, so that they stay where they are, and lets root be the rest.
// It changes nothing if the document would mean something else without them.
func withTail(d document, object []byte, root **yaml.Node) document {
	body, tail := trailingComments(d.body)
	shorter := d
	shorter.body = body
	rest, err := shorter.parse()
	if err != nil {
		return d
	}
	if again, _, err := toJSON(rest); err != nil || !bytes.Equal(again, object) {
		return d
	}
	*root, shorter.tail = rest, tail
	return shorter
}

// trailingComments cuts off the lines at the end that are blank or comments at the margin.
func trailingComments(body []byte) (content, tail []byte) {
	end := len(body)
	for end > 0 {
		start := bytes.LastIndexByte(body[:end-1], '\n') + 1
		line := body[start:end]
		if line[0] != '#' && len(bytes.TrimSpace(line)) > 0 {
			break
		}
		end = start
	}
	return body[:end], body[end:]
}

// object returns a converted document, nil if nothing is to be changed.
func (b *batch) object(d document, object []byte) ([]byte, error) {
	c := converter{targets: b.targets, guide: b.guide, lastApplied: b.lastApplied, check: b.check}
	converted, err := c.convert(object)
	b.findings = append(b.findings, b.located(c.findings, d)...)
	if !b.check { // else they are findings
		b.warnings = append(b.warnings, b.located(c.warnings, d)...)
		for _, lost := range b.located(c.lost, d) {
			b.failures = append(b.failures, errors.New(lost.String()))
		}
	}
	asked := b.output != "" && (b.output == formatJSONName) != d.json && c.ours
	if err != nil || bytes.Equal(converted, object) && !asked {
		return nil, err
	}
	return converted, nil
}

func (b *batch) located(findings []finding, d document) []finding {
	for i := range findings {
		findings[i].File, findings[i].Document = b.file, d.number
	}
	return findings
}

// rendered returns the document with another content. source is the document as YAML, if that is what it was.
func (b *batch) rendered(d document, object []byte, source *yaml.Node) (document, error) {
	var err error
	if b.output == formatJSONName || b.output == "" && source == nil {
		indent := kubectlIndent
		if source == nil {
			indent = indentOf(d.body)
		}
		if d.body, err = formatJSON(object, indent); source != nil {
			d.body = append(d.body, '\n')
		}
		d.json, d.changed = true, true
		return d, err
	}
	nodes, err := nodesOf(object)
	if err != nil {
		return d, err
	}
	l := kubectlLayout
	if source != nil {
		var lost int
		l = layoutOf(source, d.body)
		if nodes, lost = carryOver(source, nodes, b.targets); lost > 0 && !b.check {
			b.warnings = append(b.warnings, finding{File: b.file, Document: d.number, Kind: scalarText(valueOf(source.Content[0], "kind")),
				Message: fmt.Sprintf("comment lines that have no place in the converted document and are left out: %d", lost)})
		}
	}
	d.body, err = renderYAML(object, nodes, l)
	d.json, d.changed = false, true
	return d, err
}

// maxLists is how deep lists may be inside of lists.
const maxLists = 20

// concerned reports whether something in a YAML document may have to be converted.
func (b *batch) concerned(n *yaml.Node, depth int) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Kind != yaml.MappingNode || depth > maxLists {
		return false
	}
	apiVersion, kind := scalarText(valueOf(n, "apiVersion")), scalarText(valueOf(n, "kind"))
	version, list := b.listOf(apiVersion, kind)
	if version != "" || b.of(apiVersion, kind) != "" || b.unknownKind(apiVersion, kind) != "" || nearMiss(apiVersion, kind) != "" {
		return true
	}
	items := valueOf(n, "items")
	if !list || items == nil || items.Kind != yaml.SequenceNode {
		return list && items != nil
	}
	for _, item := range items.Content {
		if b.concerned(item, depth+1) {
			return true
		}
	}
	return false
}

// valueOf returns the value of a key in a mapping, with aliases resolved; nil if there is none.
func valueOf(n *yaml.Node, name string) (found *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	w := jsonWriter{}
	pairs, err := w.pairsOf(n)
	if err != nil { // some key is unreadable, but maybe not this one
		own, _ := plainPairs(n)
		pairs = []pair{own[name]}
	}
	for _, p := range pairs {
		if p.name == name {
			found = p.value
		}
	}
	if found != nil && found.Kind == yaml.AliasNode {
		return found.Alias
	}
	return found
}
