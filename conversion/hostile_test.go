package conversion

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestHostileSizes: objects made to be slow convert in time that grows with their size. The limit is generous: what it catches
// takes minutes.
func TestHostileSizes(t *testing.T) {
	const n = 50000
	list := func(format string, numbered bool) string {
		var out strings.Builder
		for i := range n {
			if numbered {
				fmt.Fprintf(&out, format, n-i)
			} else {
				out.WriteString(format)
			}
			out.WriteByte(',')
		}
		return strings.TrimSuffix(out.String(), ",")
	}
	for name, c := range map[string]struct{ version, body string }{
		"one variable, many times":  {"v1", `{"spec":{"env":[` + list(`{"name":"A","value":"1"}`, false) + `]}}`},
		"many variables":            {"v1", `{"spec":{"env":[` + list(`{"name":"A%d"}`, true) + `]}}`},
		"many unreadable variables": {"v1alpha1", `{"spec":{"env":{` + list(`"K%d":5`, true) + `}}}`},
		"many hidden fields":        {"v1", `{"spec":{` + list(`"x%d":{}`, true) + `}}`},
		"many unknown fields":       {"v1alpha1", `{"spec":{` + list(`"x%d":{}`, true) + `}}`},
		"a struct, many times":      {"v1", `{"spec":{` + list(`"probes":{"readiness":{"x":1}}`, false) + `}}`},
		"many annotations":          {"v1", `{"metadata":{"annotations":{` + list(`"a%d":"b"`, true) + `}},"spec":{"paused":true}}`},
		"escapes":                   {"v1", `{"spec":{"args":["` + strings.Repeat(`\"\\\u0000`, n) + `"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			there := mustConvert(t, object("WebApp", c.version, c.body), "WebApp", otherVersion(c.version))
			mustConvert(t, there.Object, "WebApp", c.version)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			} else {
				t.Logf("%d bytes took %s", len(c.body), took)
			}
		})
	}
}
