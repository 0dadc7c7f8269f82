package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/example/workload-operator/conversion"
)

// TestScale: many more entries, of which there is something to say about each, take proportionally longer to convert and to check.
// There is one field of each policy that leaves entries apart, and a field that no table has.
// Entries are long enough for both sizes to be compressed in an annotation.
func TestScale(t *testing.T) {
	// Quadratic work would take 256 times as long; a busy machine makes the ratio of linear work anything up to 40.
	const few, many, limit = 1000, 16000, 100
	for place, fields := range scaleFields() {
		version := strings.Fields(place)[1]
		to := bothUp
		if version == "v1" {
			to = bothDown
		}
		for _, format := range []string{`{"A23456789012345678901234567890%d":1}`, `[{"name":"A234567890123456%d","value":1}]`} {
			for _, args := range [][]string{{}, {"--check"}} {
				run := func(n int) func() {
					in := scaled(place, fields, format, n)
					return func() { runWith(in, append([]string{"convert", "-f", "-", "-o", "json", "--to", to}, args...)...) }
				}
				if ratio := timeRatio(run(few), run(many), limit); ratio > limit {
					t.Errorf("%s in %s, %v: %d times the entries take %.0f times as long", format, place, args, many/few, ratio)
				}
			}
		}
	}
}

// scaleFields returns paths by apiVersion, kind and place.
func scaleFields() map[string][]string {
	places := map[string][]string{}
	for _, kind := range conversion.Kinds() {
		policies := map[string]bool{}
		for _, field := range append(conversion.Fields(kind, "v1alpha1"), conversion.Field{Hub: "spec.x", Spoke: "spec.x", Policy: "none"}) {
			if policies[field.Policy] || !slices.Contains([]string{"renamed", "kept", "map and list", "none"}, field.Policy) {
				continue
			}
			policies[field.Policy] = true
			for version, path := range map[string]string{"v1": field.Hub, "v1alpha1": field.Spoke} {
				if names := fieldPath(path); len(names) > 0 {
					places[fmt.Sprintf("%s %s %s %s", kind.Group, version, kind.Kind, path)] = names
				}
			}
		}
	}
	return places
}

// scaled returns an object with n entries at a place.
func scaled(place string, fields []string, format string, n int) string {
	head := strings.Fields(place)
	opening, entry, closing := format[:1], format[1:len(format)-1], format[len(format)-1:]
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(entry, i)
	}
	value := opening + strings.Join(all, ",") + closing
	for i := len(fields) - 1; i >= 0; i-- {
		value = fmt.Sprintf("{%q:%s}", fields[i], value)
	}
	return fmt.Sprintf(`{"apiVersion":"%s/%s","kind":%q,%s`, head[0], head[1], head[2], value[1:])
}

// timeRatio returns how many times longer large takes than small, of the best of several runs until it is below the limit.
func timeRatio(small, large func(), limit float64) (ratio float64) {
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 5 {
		for i, f := range []func(){small, large} {
			start := time.Now()
			f()
			best[i] = min(best[i], time.Since(start))
		}
		if ratio = float64(best[1]) / float64(best[0]); ratio < limit {
			break
		}
	}
	return ratio
}

// TestDeepDifferences: what differs deep inside is one difference, so that a report stays as small as the object.
func TestDeepDifferences(t *testing.T) {
	const depth = 2000
	in := `{"apiVersion":"app.example.com/v1","kind":"WebApp","spec":` + strings.Repeat(`{"x":`, depth) + `{"a":1,"b":2}` + strings.Repeat("}", depth) + "}"
	got := runWith(in, "convert", "-f", "-", "--check", "--to", bothDown)
	if got.code != exitFailure || strings.Count(got.stdout, "\n") != 1 || len(got.stdout) > 1000 {
		t.Errorf("exit code %d, %d bytes: %.200s", got.code, len(got.stdout), got.stdout)
	}
}
