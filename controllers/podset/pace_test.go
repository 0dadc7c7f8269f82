package podset

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPace(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cases := map[string]struct{ pass, rest time.Duration }{
		"no time":     {0, 0},
		"a small set": {200 * time.Microsecond, 1800 * time.Microsecond},
		"a large set": {10 * time.Millisecond, 90 * time.Millisecond},
		"a slow one":  {time.Second, maxRest},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := pace{}
			if p.rests(begin) {
				t.Error("rests before the first pass")
			}
			end := begin.Add(tc.pass)
			p.took(begin, end)
			got := map[string]bool{"at first": p.rests(end), "half way": p.rests(end.Add(tc.rest / 2)), "after": p.rests(end.Add(tc.rest))}
			if diff := cmp.Diff(map[string]bool{"at first": tc.rest > 0, "half way": tc.rest > 0, "after": false}, got); diff != "" {
				t.Errorf("rests (-want, +got):\n%s", diff)
			}
		})
	}
}
