package main

import (
	"fmt"
	"strings"

	"github.com/example/workload-operator/conversion"
)

// manifest is an object of ours in a document.
type manifest struct {
	raw      []byte   // as JSON
	item     string   // its place in the document, if that is a list
	repeated []string // keys that come twice in it
}

// manifestReader finds the objects of ours in documents.
type manifestReader struct{ targets }

func newManifestReader() manifestReader {
	ours := targets{}
	for _, kind := range conversion.Kinds() {
		ours[kind.Group] = kind.Group // any version
	}
	return manifestReader{ours}
}

// objects returns the objects of ours in a document, and counts the others.
func (r manifestReader) objects(d document) (ours []manifest, foreign int, err error) {
	if len(d.body) == 0 {
		return nil, 0, nil
	}
	object, repeated := d.body, []string(nil)
	if !d.json {
		text, line := d.content()
		root, err := parseYAML(text, line)
		if err != nil {
			return nil, 0, err
		}
		b := batch{targets: r.targets}
		if !b.concerned(root.Content[0], 0) {
			return nil, 1, nil
		}
		if object, repeated, err = toJSON(root); err != nil {
			return nil, 0, err
		}
	}
	ours, foreign = r.inside(object, "", 0)
	if len(ours) > 0 {
		ours[0].repeated = repeated
	}
	return ours, foreign, nil
}

// inside returns the objects of ours in an object, which is one itself or a list.
func (r manifestReader) inside(object []byte, item string, depth int) (ours []manifest, foreign int) {
	apiVersion, kind := stringAt(object, "apiVersion"), stringAt(object, "kind")
	version, list := r.listOf(apiVersion, kind)
	switch {
	case r.of(apiVersion, kind) != "":
		return []manifest{{raw: object, item: item}}, 0
	case !list || depth > maxLists:
		return nil, 1
	}
	items, ok := spanAt(object, "items")
	if !ok {
		return nil, 0
	}
	for i, at := range elementSpans(items.of(object)) {
		element := at.of(items.of(object))
		if version != "" {
			element = withIdentity(element, apiVersion, strings.TrimSuffix(kind, "List"))
		}
		more, others := r.inside(element, strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", item, i), "."), depth+1)
		ours, foreign = append(ours, more...), foreign+others
	}
	return ours, foreign
}
