package closest

import "testing"

func TestWord(t *testing.T) {
	fields := []string{"image", "imagePullPolicy", "paused", "replicas", "resources"}
	cases := map[string]struct {
		reason, word string
		candidates   []string
		want         string
	}{
		"missing letter":  {"replica for replicas", "replica", fields, "replicas"},
		"letter too many": {"imagee for image", "imagee", fields, "image"},
		"swapped":         {"two letters in the wrong order are one mistake", "imgae", fields, "image"},
		"case":            {"names are told apart by case, people do not", "REPLICAS", fields, "replicas"},
		"another word":    {"nothing is better than nonsense", "surprise", fields, ""},
		"the closer one":  {"of two the closer one", "v2b", []string{"v2alpha", "v2"}, "v2"},
		"the first one":   {"of two as close", "v2", []string{"v1", "v3"}, "v1"},
		"one letter":      {"all of it would be replaced", "x", []string{"y", "xy"}, ""},
		"nothing":         {"no word at all", "", fields, ""},
		"no candidates":   {"nothing to choose from", "image", nil, ""},
		"long":            {"much longer words cost nothing", string(make([]byte, 1<<20)), fields, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got, ok := Word(c.word, c.candidates); got != c.want || ok != (c.want != "") {
				t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
			}
		})
	}
}
