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
