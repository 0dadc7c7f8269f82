package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrapped(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"fits":    {"nothing to do", "0123456789", []string{"0123456789"}},
		"words":   {"between words", "one two three", []string{"one two", "three"}},
		"path":    {"before a dot", "spec.ports.a", []string{"spec.ports", ".a"}},
		"no seam": {"anywhere, then", "01234567890123", []string{"0123456789", "0123"}},
		"empty":   {"a line all the same", "", []string{""}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, wrapped(c.text, 10)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestWriteWrapped(t *testing.T) {
	var out strings.Builder
	if err := writeWrapped(&out, []column{{"A", 3}, {"B", 5}}, [][]string{{"a", "one two"}, {"b", "c"}}); err != nil {
		t.Fatal(err)
	}
	want := "A    B\na    one\n     two\nb    c\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
