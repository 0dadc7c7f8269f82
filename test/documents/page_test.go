package documents

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/example/workload-operator/test/pages"
)

var (
	inline = regexp.MustCompile("`([^`\n]+)`")
	slug   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// code is what a reader of a page would type, and its code within sentences.
func code(p pages.Page) []string {
	var all []string
	for _, command := range p.Commands() {
		all = append(all, command.Line)
	}
	return append(all, p.Code()...)
}

// anchorsOf are the places of a page that a link can name, made of its headings as GitHub and most renderers make them.
func anchorsOf(p pages.Page) map[string]bool {
	anchors, seen := map[string]bool{}, map[string]int{}
	for line := range strings.Lines(p.Prose()) {
		heading := strings.TrimLeft(line, "#")
		if heading == line || !strings.HasPrefix(heading, " ") {
			continue
		}
		anchor := strings.ReplaceAll(slug.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading)), ""), " ", "-")
		if n := seen[anchor]; n > 0 {
			anchors[anchor+"-"+strconv.Itoa(n)] = true
		} else {
			anchors[anchor] = true
		}
		seen[anchor]++
	}
	return anchors
}
