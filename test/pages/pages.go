package pages

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/workload-operator/test/controlplane"
)

// Page is a page of the documents, or a part of one.
type Page struct {
	// Path is where the page is, from the root of the repository.
	Path string
	// Heading is that of the part; empty means the whole page.
	Heading string
	// Text is what is written, in Markdown.
	Text string
}

// Command is what a reader is told to type.
type Command struct {
	// Line is a line of shell. Those that continue on the next line are joined.
	Line string
	// Printed is what the page says that the command prints; empty if it says nothing.
	Printed string
	// Excerpt says that the command prints more than the page shows.
	Excerpt bool
}

var (
	fence    = regexp.MustCompile("(?ms)^ *```([^\n`]*)\n(.*?)^ *```$")
	headings = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	inline   = regexp.MustCompile("`([^`]+)`")
	comment  = regexp.MustCompile(`(^|\s+)# .*$`)
)

// All are README.md and the pages of docs/, sorted by path.
func All(t testing.TB) []Page {
	t.Helper()
	paths := []string{"README.md"}
	root := root(t)
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		relative, err := filepath.Rel(root, path)
		paths = append(paths, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(paths)
	var all []Page
	for _, path := range paths {
		all = append(all, Part(t, path, ""))
	}
	return all
}

// Part is the part of a page below a heading, up to the next one of the same level; without a heading it is the whole page. Who calls it
// with two literals promises to type every command of the part that Typed does not leave out: test/documents looks for these calls.
func Part(t testing.TB, path, heading string) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), path))
	if err != nil {
		t.Fatal(err)
	}
	page := Page{Path: path, Heading: heading, Text: string(text)}
	if heading == "" {
		return page
	}
	for _, part := range page.Parts() {
		if part.Heading == heading {
			return part
		}
	}
	t.Fatalf("%s has no part %q", path, heading)
	return Page{}
}

// Parts are the parts of the page below each of its headings. A part contains those below it.
func (p Page) Parts() []Page {
	var parts []Page
	prose := fence.ReplaceAllStringFunc(p.Text, func(block string) string { return strings.Repeat("\n", len(block)) }) // same offsets, no headings
	found := headings.FindAllStringSubmatchIndex(prose, -1)
	for i, heading := range found {
		end := len(p.Text)
		for _, next := range found[i+1:] {
			if next[3]-next[2] <= heading[3]-heading[2] {
				end = next[0]
				break
			}
		}
		parts = append(parts, Page{Path: p.Path, Heading: p.Text[heading[4]:heading[5]], Text: p.Text[heading[1]:end]})
	}
	return parts
}

// Prose is the page without its fenced blocks.
func (p Page) Prose() string { return fence.ReplaceAllString(p.Text, "") }

// Code is what stands in backticks within sentences and tables, each in one line.
func (p Page) Code() []string {
	var all []string
	for _, found := range inline.FindAllStringSubmatch(p.Prose(), -1) {
		all = append(all, strings.Join(strings.Fields(found[1]), " "))
	}
	return all
}

// Commands are what a reader is told to type, in order.
func (p Page) Commands() []Command {
	var all []Command
	p.Rewrite(func(b Block) string {
		all = append(all, b.Commands()...)
		return b.Text
	})
	return all
}

// Block is a fenced block of a page.
type Block struct{ Language, Text string }

// Commands are what a reader of the block is told to type, in order.
func (b Block) Commands() []Command { return commandsOf(b.Language, b.Text) }

// Rewrite is the text of the page with that of each fenced block replaced.
func (p Page) Rewrite(replace func(Block) string) string {
	var out strings.Builder
	rest := 0
	for _, found := range fence.FindAllStringSubmatchIndex(p.Text, -1) {
		out.WriteString(p.Text[rest:found[4]])
		out.WriteString(replace(Block{Language: p.Text[found[2]:found[3]], Text: p.Text[found[4]:found[5]]}))
		rest = found[5]
	}
	return out.String() + p.Text[rest:]
}

func commandsOf(language, block string) (all []Command) {
	block = strings.ReplaceAll(block, "\\\n", "\x00")
	for line := range strings.Lines(block) {
		typed, prompt := strings.CutPrefix(strings.TrimLeft(line, " "), "$ ")
		switch {
		case language == "sh" || language == "console" && prompt:
			if typed = joined(typed); typed != "" {
				all = append(all, Command{Line: typed})
			}
		case language == "console" && len(all) > 0:
			last := &all[len(all)-1]
			last.Excerpt = last.Excerpt || strings.TrimSpace(line) == "..."
			if !last.Excerpt {
				last.Printed += line
			}
		}
	}
	return all
}

// joined is a command in one line, without a comment.
func joined(line string) string {
	var parts []string
	for part := range strings.SplitSeq(line, "\x00") {
		parts = append(parts, strings.TrimSpace(part))
	}
	return comment.ReplaceAllString(strings.Join(parts, " "), "")
}

func root(t testing.TB) string {
	t.Helper()
	root, err := controlplane.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}
