package conversion

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// containers are large values of n entries, each of which may need something to be looked up or reported. Entries are long enough
// for both sizes of the test to be compressed in an annotation.
var containers = map[string]func(n int) string{
	"map of numbers":       func(n int) string { return "{" + entries(n, `"A234567890123456789%d":1`) + "}" },
	"map of texts":         func(n int) string { return "{" + entries(n, `"A234567890123456789%d":"1"`) + "}" },
	"list of numbers":      func(n int) string { return "[" + entries(n, `123456789012345678901234%d`) + "]" },
	"list of bad names":    func(n int) string { return "[" + entries(n, `{"name":"A%d","value":1}`) + "]" },
	"list of hidden names": func(n int) string { return "[" + entries(n, `{"name":"A%d","valueFrom":{"x":1}}`) + "]" },
	"list of one name":     func(n int) string { return "[" + entries(n, `{"name":"A","value":"%d"}`) + "]" },
	"list of half a name":  func(n int) string { return "[" + entries(n, `{"name":"\ud800%d"}`) + "]" },
}

// entries are n entries, in descending order.
func entries(n int, format string) string {
	var out strings.Builder
	for i := n; i > 0; i-- {
		fmt.Fprintf(&out, format, i)
		out.WriteByte(',')
	}
	return strings.TrimSuffix(out.String(), ",")
}

// TestScale: many more entries, at any place of either version, take proportionally longer there and back, and to find what is
// degraded.
func TestScale(t *testing.T) {
	// Quadratic work would take 256 times as long; collecting garbage makes the ratio of linear work anything up to 40.
	const few, many, limit = 1000, 16000, 100
	for _, c := range standard.all {
		for _, version := range c.versions {
			tree := c.spoke
			if version == hubVersion {
				tree = c.hub
			}
			places := []string{"x", "spec.x", "status.x", annotationPath + "x"}
			for _, n := range tree.fields {
				places = append(places, n.path)
			}
			for _, place := range places {
				for name, container := range containers {
					if !c.reshaped(place) && name != "map of numbers" {
						continue // it is copied, whatever it is
					}
					small, large := placed(c, version, place, container(few)), placed(c, version, place, container(many))
					if ratio := timeRatio(t, func() { thereAndBack(t, c, version, small) }, func() { thereAndBack(t, c, version, large) }, limit); ratio > limit {
						t.Errorf("%s %s, %s in %s: %d times the entries take %.0f times as long", c.kind.Kind, version, name, place, many/few, ratio)
					}
				}
			}
		}
	}
}

// reshaped reports whether a field changes its shape.
func (c *compiled) reshaped(path string) bool {
	return slices.ContainsFunc(c.rows, func(r row) bool {
		return r.how != nil && (r.hub == path || slices.Contains(strings.Fields(r.spoke), path))
	})
}

// placed returns an object with a value at a place; the members of an object go among the annotations.
func placed(c *compiled, version, place, value string) []byte {
	if strings.HasPrefix(place, annotationPath) {
		return object(c.kind.Kind, version, `{"metadata":{"annotations":{"x":`+value+`}},"spec":{}}`)
	}
	names := strings.Split(place, ".")
	for i := len(names) - 1; i >= 0; i-- {
		value = `{"` + names[i] + `":` + value + `}`
	}
	return object(c.kind.Kind, version, value)
}

func thereAndBack(t *testing.T, c *compiled, version string, in []byte) {
	group := c.kind.Group + "/"
	there, err := Convert(in, group+otherVersion(version))
	if err != nil {
		t.Fatal(err)
	}
	hub := there.Object
	if version == hubVersion {
		hub = in
	}
	Degraded(hub)
	if _, err := Convert(there.Object, group+version); err != nil {
		t.Fatal(err)
	}
}

// timeRatio returns how many times more time of the processors large takes than small, of the best of several runs until it is below
// the limit.
func timeRatio(t *testing.T, small, large func(), limit float64) (ratio float64) {
	t.Helper()
	best := [2]time.Duration{time.Hour, time.Hour}
	for range 5 {
		for i, f := range []func(){small, large} {
			start := processorTime(t)
			f()
			best[i] = min(best[i], max(processorTime(t)-start, time.Microsecond))
		}
		if ratio = float64(best[1]) / float64(best[0]); ratio < limit {
			break
		}
	}
	return ratio
}

// processorTime is what this process took so far. Other processes do not slow it.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
