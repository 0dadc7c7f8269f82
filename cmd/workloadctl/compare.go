package main

import (
	"encoding/json"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// compare finds what of an object would be gone or different if it were converted, lost the annotations of the conversion, and
// were converted back.
func (c *converter) compare(object []byte, target string) error {
	there, err := conversion.Convert(object, target)
	if err != nil {
		return err
	}
	bare, err := withoutOurs(there.Object)
	if err != nil {
		return err
	}
	back, err := conversion.Convert(bare, stringAt(object, "apiVersion"))
	if err != nil {
		return err
	}
	before, err := comparableForm(object)
	if err != nil {
		return err
	}
	after, err := comparableForm(back.Object)
	if err != nil {
		return err
	}
	about := c.findingOf(object)
	d := differ{target: target}
	for _, q := range there.Quarantined {
		c.findings = append(c.findings, about.at(q.Path, q.Reason))
		d.reported(q.Path)
	}
	for _, loss := range there.Lost {
		c.findings = append(c.findings, about.at(loss.Path, loss.Reason))
		d.reported(loss.Path)
	}
	if there.Malformed > 0 {
		c.findings = append(c.findings, about.at("metadata.annotations", "has damaged annotations of earlier conversions"))
	}
	d.diff("", before, after)
	for _, found := range d.found {
		c.findings = append(c.findings, about.at(found.path, found.message))
	}
	return nil
}

func withoutOurs(object []byte) ([]byte, error) {
	value, err := decodeJSON(object)
	if err != nil {
		return nil, err
	}
	removeOurs(value)
	return json.Marshal(value)
}

// comparableForm returns an object without what conversion does not promise to keep, and without its own annotations.
func comparableForm(object []byte) (any, error) {
	value, err := decodeJSON(object)
	if err != nil {
		return nil, err
	}
	removeOurs(value)
	if fields, ok := value.(map[string]any); ok {
		metadata, isObject := fields["metadata"].(map[string]any)
		delete(metadata, "managedFields") // the API server restores them
		if !isObject || len(metadata) == 0 {
			delete(fields, "metadata") // always an object after a conversion
		}
	}
	return value, nil
}

// removeOurs removes the annotations of conversion, and annotations that are then empty.
func removeOurs(object any) {
	fields, _ := object.(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	annotations, isObject := metadata["annotations"].(map[string]any)
	delete(annotations, workloadv1.AnnotationV1Fields)
	delete(annotations, workloadv1.AnnotationUnconvertible)
	if isObject && len(annotations) == 0 || metadata["annotations"] == nil {
		delete(metadata, "annotations")
	}
}
