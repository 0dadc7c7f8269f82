package pages

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

const page = "# One\n\nText `make x`.\n\n```console\n$ first --flag   # why\nprinted\n\n$ second | third\n1\n...\n2\n```\n\n" +
	"## Two\n\n   ```sh\n   one \\\n     --more 'a  b'\n   # only a comment\n   two\n   ```\n\n```text\n$ no command\n# No heading\n```\n\n### Three\n\n```sh\nthree\n```\n\n## Four\n"

func TestCommands(t *testing.T) {
	t.Parallel()
	p := Page{Text: page}
	want := []Command{
		{Line: "first --flag", Printed: "printed\n\n"}, {Line: "second | third", Printed: "1\n", Excerpt: true},
		{Line: "one --more 'a  b'"}, {Line: "two"}, {Line: "three"},
	}
	if diff := cmp.Diff(want, p.Commands()); diff != "" {
		t.Error(diff)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	commands := map[string]int{}
	for _, part := range (Page{Text: page}).Parts() {
		commands[part.Heading] = len(part.Commands())
	}
	if diff := cmp.Diff(map[string]int{"One": 5, "Two": 3, "Three": 1, "Four": 0}, commands); diff != "" {
		t.Error(diff)
	}
}

func TestRewrite(t *testing.T) {
	t.Parallel()
	p := Page{Text: page}
	if got := p.Rewrite(func(b Block) string { return b.Text }); got != page {
		t.Error(cmp.Diff(page, got))
	}
	if got := p.Rewrite(func(b Block) string { return b.Language + "\n" }); got == page || len((Page{Text: got}).Commands()) != 2 {
		t.Errorf("not replaced:\n%s", got)
	}
}

func TestCode(t *testing.T) {
	t.Parallel()
	got := Page{Text: "A `b c` and `d\ne` | `f` |\n```sh\nnone `of these`\n```\n"}.Code()
	if diff := cmp.Diff([]string{"b c", "d e", "f"}, got); diff != "" {
		t.Error(diff)
	}
}
