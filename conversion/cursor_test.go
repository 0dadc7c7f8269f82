package conversion

import (
	"strings"
	"testing"
)

// TestStringEnd finds the end of strings with escapes at every offset.
func TestStringEnd(t *testing.T) {
	for before := range 17 {
		for _, middle := range []string{"", `\"`, `\\`, `\\\"`, `\"\"\"\"\"`, `\u0022`, "é", "\x7f\x80\xff", `\\\\\\\\\\`} {
			for after := range 17 {
				text := `"` + strings.Repeat("a", before) + middle + strings.Repeat("b", after) + `"`
				for _, rest := range []string{"", "}", `,"x":"y"}`, `"""""""""`} {
					if got := stringEnd([]byte(text+rest), 0); got != len(text) {
						t.Fatalf("%q before %q: %d, want %d", text, rest, got, len(text))
					}
				}
			}
		}
	}
}

// TestDenseEscapes reads strings made of few different pieces, so that escapes come at every offset of a word and next to each other.
func TestDenseEscapes(t *testing.T) {
	r := newRandom(t)
	pieces := []string{"a", "bcdefg", `\"`, `\\`, `\n`, `\/`, `\u0041`, `\ud83c\udf89`, `\ud800`, "é", "\xff", `"`, `\`, "\x01", `\x`}
	for range *objects * 3 {
		usual := 2 + r.IntN(len(pieces)-1)
		text := []byte{'"'}
		for range r.IntN(30) {
			text = append(text, pieces[r.IntN(usual)]...)
		}
		checkSyntax(t, append(append(text, '"'), pick(r, "", " ", "a", `"`, "        ")...))
	}
}
