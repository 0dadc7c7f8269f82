package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/cmd/workloadctl/internal/closest"
	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/conversion"
	"github.com/example/workload-operator/webhooks"
)

// fieldGuide knows the fields there are. What strict decoding refuses it says in the words of the API server, and adds what was
// probably meant.
type fieldGuide struct{ *webhooks.Fields }

// newFieldGuide reads the schemas once, which takes longer than most conversions.
var newFieldGuide = sync.OnceValues(func() (fieldGuide, error) {
	crds, err := config.CRDs()
	if err != nil {
		return fieldGuide{}, err
	}
	fields, err := webhooks.NewFields(crds)
	return fieldGuide{fields}, err
})

// The words of the API server for one mistake, and those for unknown fields in a longer text. The last ones are what a server-side
// apply says before anything is decoded strictly.
var (
	mistakeWords = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)
	unknownWords = regexp.MustCompile(`unknown field "([^"]*)"|\.(\S+): field not declared in schema`)
)

const duplicateWord = "duplicate"

// mistake takes the words of the API server apart.
func mistake(text string) (kind, path string) {
	found := mistakeWords.FindStringSubmatch(text)
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}

func duplicateField(path string) string { return duplicateWord + ` field "` + path + `"` }

// explained adds to each unknown field in a text of the API server what was probably meant.
func (g fieldGuide) explained(gvk schema.GroupVersionKind, text string) string {
	return unknownWords.ReplaceAllStringFunc(text, func(words string) string {
		found := unknownWords.FindStringSubmatch(words)
		return words + g.hint(gvk, found[1]+found[2])
	})
}

// fieldError is a mistake as the reason of a refusal.
func (g fieldGuide) fieldError(gvk schema.GroupVersionKind, text string) fieldError {
	_, path := mistake(text)
	return fieldError{Field: path, Message: g.explained(gvk, text)}
}

// hint says what was probably meant with an unknown field, empty if there is no telling.
func (g fieldGuide) hint(gvk schema.GroupVersionKind, path string) string {
	if name := otherName(gvk, path); name != "" {
		return fmt.Sprintf("; %s calls it %q", gvk.GroupVersion(), name)
	}
	for _, version := range candidateVersions {
		other := gvk.GroupKind().WithVersion(version)
		if other != gvk && g.Has(other, path) {
			return fmt.Sprintf("; it is a field of %s", other.GroupVersion())
		}
	}
	parent, name := "", path
	if at := strings.LastIndexByte(path, '.'); at >= 0 {
		parent, name = path[:at], path[at+1:]
	}
	if meant, ok := closest.Word(name, g.Names(gvk, parent)); ok {
		return fmt.Sprintf("; did you mean %q?", meant)
	}
	return ""
}

// otherName is what a version calls a field that has this path in another version, empty if no other has it.
func otherName(gvk schema.GroupVersionKind, path string) string {
	for _, version := range candidateVersions[1:] {
		for _, row := range conversion.Fields(gvk.GroupKind(), version) {
			spokes := strings.Fields(row.Spoke)
			switch {
			case gvk.Version == candidateVersions[0] && slices.Contains(spokes, path):
				return row.Hub
			case gvk.Version == version && row.Hub == path && len(spokes) > 0:
				return spokes[0]
			}
		}
	}
	return ""
}
