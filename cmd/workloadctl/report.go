package main

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// finding is something to say about a place in an object.
type finding struct {
	File      string `json:"file"`
	Document  int    `json:"document"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`

	// Item is the object's place in the document, if that is a list.
	Item string `json:"item,omitempty"`

	// Path is the place in the object, in the object's field names; empty for the whole object.
	Path string `json:"path,omitempty"`

	// Message goes on where the path ends.
	Message string `json:"message"`
}

func (f finding) String() string {
	object := f.Kind
	switch {
	case f.Namespace != "":
		object += " " + f.Namespace + "/" + f.Name
	case f.Name != "":
		object += " " + f.Name
	}
	parts := []string{f.File, fmt.Sprintf("document %d", f.Document), object}
	if f.Item != "" {
		parts = []string{f.File, fmt.Sprintf("document %d", f.Document), f.Item, object}
	}
	return oneLine(strings.Join(parts, ": ") + ": " + strings.TrimSpace(f.Path+" "+f.Message))
}

const parkedNote = ", and waits in the annotation " + workloadv1.AnnotationUnconvertible

// findingOf returns a finding about a whole object. What it is gets read once, since there may be something to say about each of
// many entries.
func (c *converter) findingOf(object []byte) finding {
	return finding{
		Kind:      stringAt(object, "kind"),
		Namespace: stringAt(object, "metadata", "namespace"),
		Name:      stringAt(object, "metadata", "name"),
		Item:      c.path,
	}
}

// at returns the finding about a place in the object.
func (f finding) at(path, message string) finding {
	f.Path, f.Message = path, message
	return f
}

// report collects what a conversion says about an object.
func (c *converter) report(object []byte, result conversion.Result) {
	about := c.findingOf(object)
	for _, q := range result.Quarantined {
		c.warnings = append(c.warnings, about.at(q.Path, q.Reason+parkedNote))
	}
	if result.Malformed > 0 {
		c.warnings = append(c.warnings, about.at("", fmt.Sprintf("has %d damaged annotations of earlier conversions; what was readable is used", result.Malformed)))
	}
	if !c.check { // which wants no warnings
		c.reportMistakes(object, about, result)
	}
	for _, loss := range result.Lost {
		c.lost = append(c.lost, about.at(loss.Path, loss.Reason))
	}
}

// maxHints is for how many fields of an object there is a guess at what was meant. Who has more did not misspell them.
const maxHints = 100

// reportMistakes says what became of fields that strict decoding would refuse.
func (c *converter) reportMistakes(object []byte, about finding, result conversion.Result) {
	mistakes, err := c.guide.Mistakes(object)
	if err != nil || len(mistakes) == 0 { // what cannot be decoded has no fields
		return
	}
	var said differ
	for _, q := range result.Quarantined {
		said.reported(q.Path)
	}
	gvk := schema.FromAPIVersionAndKind(stringAt(object, "apiVersion"), about.Kind)
	before, _ := decodeJSON(object) // nil if it cannot be decoded, and then nothing in it stays
	after, _ := decodeJSON(result.Object)
	for i, text := range mistakes {
		kind, path := mistake(text)
		hint := ""
		if i < maxHints {
			hint = c.guide.hint(gvk, path)
		}
		switch {
		case said.isKnown(dotted(path)):
		case kind == duplicateWord:
			c.warnings = append(c.warnings, about.at("", text+"; the last one counts"))
		case !strings.HasPrefix(path, "spec.") && reflect.DeepEqual(valueIn(before, path), valueIn(after, path)):
			c.warnings = append(c.warnings, about.at("", text+" stays as it is"+hint))
		default:
			c.warnings = append(c.warnings, about.at("", text+" is kept in the annotation "+keptIn(gvk, path)+hint))
		}
	}
}

// keptIn is the annotation for what a version of ours cannot say.
func keptIn(gvk schema.GroupVersionKind, path string) string {
	if gvk.Version == candidateVersions[0] && strings.HasPrefix(path, "spec.") {
		return workloadv1.AnnotationV1Fields
	}
	return workloadv1.AnnotationUnconvertible
}

// valueIn returns the value at a path as strict decoding writes it, nil if there is none.
func valueIn(value any, path string) any {
	for step := range strings.SplitSeq(dotted(path), ".") {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[step]
		case []any:
			if index, err := strconv.Atoi(step); err == nil && index < len(inner) {
				value = inner[index]
			}
		default:
			return nil
		}
	}
	return value
}

// writeReport writes findings as text or as JSON, one line each.
func writeReport(w io.Writer, findings []finding, format string) error {
	for _, f := range findings {
		line := []byte(f.String())
		if format == formatJSONName {
			var err error
			if line, err = json.Marshal(f); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(w, "%s\n", line); err != nil {
			return err
		}
	}
	return nil
}
