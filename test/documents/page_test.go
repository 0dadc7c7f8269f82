package documents

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// page is README.md or a page of docs/.
type page struct {
	path string // from the root of the repository
	text string
}

// pages are all of them, sorted by path.
func pages(t *testing.T) []page {
	t.Helper()
	paths := []string{"README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".md" {
			relative, err := filepath.Rel(root, path)
			paths = append(paths, relative)
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var all []page
	for _, path := range paths {
		all = append(all, page{path: path, text: string(read(t, filepath.Join(root, path)))})
	}
	return all
}

var (
	fence  = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```$")
	inline = regexp.MustCompile("`([^`\n]+)`")
	slug   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// prose is the page without its fenced blocks.
func (p page) prose() string { return fence.ReplaceAllString(p.text, "") }

// commands are the lines of its fenced blocks that a reader would type, and its code within sentences. YAML is none.
func (p page) commands() []string {
	var all []string
	for _, block := range fence.FindAllStringSubmatch(p.text, -1) {
		for line := range strings.Lines(block[2]) {
			typed, prompt := strings.CutPrefix(line, "$ ")
			if prompt || block[1] == "sh" || block[1] == "" {
				typed, _, _ = strings.Cut(typed, " # ")
				all = append(all, strings.TrimSpace(typed))
			}
		}
	}
	for _, code := range inline.FindAllStringSubmatch(p.prose(), -1) {
		all = append(all, code[1])
	}
	return all
}

// anchors are the places of the page that a link can name, made of its headings as GitHub and most renderers make them.
func (p page) anchors() map[string]bool {
	anchors, seen := map[string]bool{}, map[string]int{}
	for line := range strings.Lines(p.prose()) {
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
