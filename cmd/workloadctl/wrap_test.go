package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapped(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		wrap         func(string, int) []string
		want         []string
	}{
		"fits":        {"nothing to do", "0123456789", wrapWords, []string{"0123456789"}},
		"words":       {"between words", "one two three", wrapWords, []string{"one two", "three"}},
		"path":        {"after a dot", "spec.ports.a", wrapPath, []string{"spec.", "ports.a"}},
		"alternative": {"after a comma", "spec.{aaaa,bb}", wrapPath, []string{"spec.", "{aaaa,bb}"}},
		"in a text":   {"a path in a text is a word", "set spec.suspend", wrapWords, []string{"set", "spec.suspend"}},
		"no seam":     {"never inside of a word", "a 01234567890123 b", wrapWords, []string{"a", "01234567890123", "b"}},
		"empty":       {"a line all the same", "", wrapWords, []string{""}},
		"empty path":  {"a line all the same", "", wrapPath, []string{""}},
		"other runes": {"letters count, not bytes", "\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9", wrapWords, []string{"\u00e9\u00e9\u00e9\u00e9 \u00e9\u00e9\u00e9\u00e9\u00e9"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, c.wrap(c.text, 10)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestWidth: what is no terminal has the plain width.
func TestWidth(t *testing.T) {
	file, err := os.Open("wrap.go")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if a, b := widthOf(file), widthOf(&bytes.Buffer{}); a != plainWidth || b != plainWidth {
		t.Errorf("a file has the width %d, a buffer %d", a, b)
	}
}
