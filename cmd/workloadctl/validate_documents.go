package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/example/workload-operator/conversion"
)

// manifest is an object of ours in a document.
type manifest struct {
	raw      []byte       // as JSON
	item     string       // its place in the document, if that is a list
	repeated []repetition // keys that come twice in it, if it was YAML
	unknown  string       // why it is of no kind or version that we have
}

// contents is what a document has.
type contents struct {
	ours    []manifest
	foreign int      // objects that are not ours
	hints   []string // which of them were probably meant to be
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

// read returns the objects in a document.
func (r manifestReader) read(d document) (contents, error) {
	if d.empty() {
		return contents{}, nil
	}
	object, repeated := d.body, []repetition(nil)
	if !d.json {
		root, err := d.parse()
		if err != nil {
			return contents{}, err
		}
		b := batch{targets: r.targets}
		if !b.concerned(root.Content[0], 0) {
			apiVersion, kind := scalarText(valueOf(root.Content[0], "apiVersion")), scalarText(valueOf(root.Content[0], "kind"))
			return contents{foreign: 1, hints: passedOver("", apiVersion, kind)}, nil
		}
		if object, repeated, err = toJSON(root); err != nil {
			return contents{}, err
		}
	}
	var found contents
	err := r.inside(&found, object, "", 0)
	for _, one := range repeated {
		found.give(one)
	}
	return found, err
}

// give hands a key that comes twice to the object that it is in. What is around the objects is for the first one.
func (c *contents) give(one repetition) {
	for i := range c.ours {
		if rest, inside := strings.CutPrefix(one.path, c.ours[i].item+"."); inside && c.ours[i].item != "" {
			one.path = rest
			c.ours[i].repeated = append(c.ours[i].repeated, one)
			return
		}
	}
	if len(c.ours) > 0 {
		c.ours[0].repeated = append(c.ours[0].repeated, one)
	}
}

// passedOver says what is odd about an object that is not ours.
func passedOver(item, apiVersion, kind string) []string {
	if apiVersion != "" || kind != "" {
		return nil
	}
	return []string{strings.TrimPrefix(item+": no apiVersion and no kind, so it is passed over", ": ")}
}

var errNoItems = errors.New("items is no list")

// inside finds the objects in an object, which is one itself or a list.
func (r manifestReader) inside(found *contents, object []byte, item string, depth int) error {
	apiVersion, kind := stringAt(object, "apiVersion"), stringAt(object, "kind")
	version, list := r.listOf(apiVersion, kind)
	unknown := cmp.Or(r.unknownKind(apiVersion, kind), nearMiss(apiVersion, kind))
	switch {
	case unknown != "" || !list && r.of(apiVersion, kind) != "":
		found.ours = append(found.ours, manifest{raw: object, item: item, unknown: unknown})
		return nil
	case !list || depth > maxLists:
		found.foreign++
		found.hints = append(found.hints, passedOver(item, apiVersion, kind)...)
		return nil
	}
	items, ok := spanAt(object, "items")
	switch value := items.of(object); {
	case !ok || string(value) == "null":
		return nil
	case value[0] != '[':
		return fmt.Errorf("%s%w", strings.TrimPrefix(item+": ", ": "), errNoItems)
	}
	for i, at := range elementSpans(items.of(object)) {
		element := at.of(items.of(object))
		if version != "" {
			element = withIdentity(element, apiVersion, strings.TrimSuffix(kind, "List"))
		}
		if err := r.inside(found, element, strings.TrimPrefix(fmt.Sprintf("%s.items[%d]", item, i), "."), depth+1); err != nil {
			return err
		}
	}
	return nil
}
