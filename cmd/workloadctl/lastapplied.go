package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/example/workload-operator/conversion"
)

// convertLastApplied converts the manifest that kubectl apply left in an annotation. One that is not ours or cannot be read
// stays as it is.
func (c *converter) convertLastApplied(object []byte, target string) []byte {
	path := []string{"metadata", "annotations", corev1.LastAppliedConfigAnnotation}
	at, ok := spanAt(object, path...)
	if !ok {
		return object
	}
	manifest := stringAt(object, path...)
	if stringAt([]byte(manifest), "apiVersion") == target {
		return object
	}
	name := "metadata.annotations[" + corev1.LastAppliedConfigAnnotation + "]"
	value, err := c.lastAppliedIn(object, manifest, target, name)
	if err != nil {
		c.warnings = append(c.warnings, c.findingOf(object).at(name, fmt.Sprintf("stays as it is: %v", err)))
		return object
	}
	return replaced(object, at, value)
}

func (c *converter) lastAppliedIn(object []byte, manifest, target, name string) ([]byte, error) {
	result, err := conversion.Convert([]byte(manifest), target)
	if err != nil {
		return nil, err
	}
	if len(result.Lost) > 0 {
		return nil, fmt.Errorf("%s %s", result.Lost[0].Path, result.Lost[0].Reason)
	}
	about := c.findingOf(object)
	for _, q := range result.Quarantined {
		c.warnings = append(c.warnings, about.at(name+": "+q.Path, q.Reason+parkedNote))
	}
	text := string(result.Object)
	if strings.HasSuffix(manifest, "\n") {
		text += "\n" // kubectl ends it with one
	}
	return quoted(text)
}
