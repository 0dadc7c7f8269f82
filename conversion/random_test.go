package conversion

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	seed    = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")
	objects = flag.Int("objects", 10000, "random objects per kind and direction")
)

// newRandom returns a generator whose seed is printed and can be given back with -seed.
func newRandom(t testing.TB) *random {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -seed=%d)", s, s)
	return &random{Rand: rand.New(rand.NewPCG(s, s))}
}

// random generates objects as JSON text, so that members can repeat and every spelling occurs.
type random struct{ *rand.Rand }

func (r *random) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

// object returns an object of a kind and version: fields of the table with likely values, and anything else with a chance of
// wild percent.
func (r *random) object(c *compiled, version string, wild int) []byte {
	t := c.hub
	if version != hubVersion {
		t = c.spoke
	}
	members := []string{
		fmt.Sprintf(`"apiVersion":"%s/%s"`, c.kind.Group, version),
		fmt.Sprintf(`"kind":%q`, c.kind.Kind),
	}
	if !r.chance(wild / 4) {
		members = append(members, `"metadata":`+r.metadata(version, wild))
	}
	if !r.chance(wild / 4) {
		members = append(members, `"spec":`+r.node(c, t.spec, version, wild))
	}
	if r.chance(50) {
		members = append(members, `"status":`+r.node(c, t.status, version, wild))
	}
	if r.chance(wild / 4) {
		members = append(members, r.name()+":"+r.value(3))
	}
	if r.chance(wild) {
		r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

func (r *random) metadata(version string, wild int) string {
	members := []string{`"name":"x"`}
	if r.chance(30) {
		members = append(members, `"labels":{"a":"b"}`, `"creationTimestamp":null`)
	}
	switch {
	case r.chance(wild / 4):
		members = append(members, `"annotations":`+pick(r, "null", "{}"))
	case r.chance(40):
		var annotations []string
		for range r.IntN(3) {
			annotations = append(annotations, r.name()+":"+r.text())
		}
		if r.chance(30) {
			annotations = append(annotations, `"batch.example.com/description":`+r.description(version, wild))
		}
		members = append(members, `"annotations":{`+strings.Join(annotations, ",")+"}")
	}
	return "{" + strings.Join(members, ",") + "}"
}

// description is what may stand in the annotation that is a field in the spoke.
func (r *random) description(version string, wild int) string {
	switch {
	case !r.chance(wild):
		return r.text()
	case version == hubVersion:
		return pick(r, "null", "1", "{}")
	}
	return "null" // anything else gives way to the field
}

// node returns a value for a place in the tree, mostly an object with some of the fields below it.
func (r *random) node(c *compiled, n *node, version string, wild int) string {
	if r.chance(wild / 5) {
		return r.value(2)
	}
	var members []string
	for _, child := range n.children {
		if !r.chance(60) {
			continue
		}
		value := ""
		if child.box >= 0 {
			value = r.node(c, child, version, wild)
		} else {
			value = r.field(child.name, wild)
		}
		members = append(members, fmt.Sprintf("%q:%s", child.name, value))
		if r.chance(wild / 20) { // a name that repeats: the last one counts
			members = append(members, fmt.Sprintf("%q:%s", child.name, r.value(2)))
		}
	}
	for range r.IntN(3) {
		if version == hubVersion || r.chance(wild) {
			members = append(members, r.name()+":"+r.value(3))
		}
	}
	if version == hubVersion && n.parent == nil {
		members = append(members, r.hidden(c)...)
	}
	if r.chance(wild / 10) {
		members = nil
	}
	return "{" + strings.Join(members, ",") + "}"
}

// hidden returns some fields that only the hub has.
func (r *random) hidden(c *compiled) (members []string) {
	for i := range c.rows {
		row := &c.rows[i]
		name, isSpec := strings.CutPrefix(row.hub, "spec.")
		if row.spoke == "" && isSpec && !strings.Contains(name, ".") && r.chance(15) {
			members = append(members, fmt.Sprintf("%q:%s", name, row.example))
		}
	}
	return members
}

// field returns a likely value for a field by its name.
func (r *random) field(name string, wild int) string {
	if r.chance(wild / 3) {
		return r.value(3)
	}
	switch name {
	case "env":
		return pick(r, r.envList(wild), r.envMap(wild))
	case "image", "repository":
		return pick(r, `"web"`, `"reg:5000/a"`, `"a:t"`, `"a:t@sha256:0"`, `"a@sha256:0"`, `""`, `"a:"`, `":t"`, `"@"`, `"a:t:u"`, `"a\/b"`)
	case "tag", "digest":
		return pick(r, `"t"`, `"sha256:0"`, `""`, `"a:b"`, `"x/y"`, `"@"`, `"A"`)
	case "interval", "readyAfter":
		return pick(r, `"10s"`, `"2m"`, `"1h"`, `"010s"`, `"-1s"`, `"soon"`, `""`, `"60s"`, `"1.5s"`, `"s"`, `10`)
	case "periodSeconds", "minReadySeconds", "targetCPUUtilizationPercentage":
		return pick(r, "0", "10", "90", "-5", "120", "1e1", "1.0", "99999999999999999999", "-0", `"10"`)
	case "targetCPU":
		return pick(r, `"80%"`, `"080%"`, `"%"`, `"lots"`, "80", `"-1%"`, `"-0%"`, `"1e1%"`)
	case "disableTokenMount", "automountServiceAccountToken", "paused", "hold":
		return pick(r, "true", "false", "null", `"yes"`)
	case "phase", "state", "type", "updatePolicy":
		return pick(r, `"Running"`, `"running"`, `"RollingUpdate"`, `"Recreate"`, `"Manual"`, `"OnDelete"`, `"Canary"`, `""`, `"R\u0075nning"`)
	case "podNames":
		return pick(r, `["a","b"]`, `[]`, `["a",5,"b"]`, `[{"name":"a"}]`, `["<"]`)
	case "pods":
		return pick(r, `[{"name":"a"},{"name":"b"}]`, `[]`, `[{"name":"a","ip":"::1"}]`, `["a",{"name":"b"}]`, `[{}]`, `[{"name":"\u003c"}]`)
	case "description":
		return r.text()
	}
	return pick(r, "1", "3", "80", `"250m"`, `1000`, r.text())
}

func (r *random) envList(wild int) string {
	entries := make([]string, 0, 4)
	for range r.IntN(5) {
		name := pick(r, `"A"`, `"B"`, `"S"`, `"Z"`, `"\u0041"`)
		entry := pick(r,
			`{"name":`+name+`,"value":`+r.text()+`}`,
			`{"value":`+r.text()+`,"name":`+name+`}`,
			`{"name":`+name+`}`,
			`{"name":`+name+`,"valueFrom":{"fieldRef":{"fieldPath":"x"}}}`,
			`{"name":`+name+`,"value":"v","valueFrom":{}}`,
			`{"name":`+name+`,"value":"v","new":1}`)
		if r.chance(wild / 2) {
			entry = pick(r, `{"name":`+name+`,"value":5}`, `{"name":`+name+`,"value":null}`, `{"name":7}`, `{}`, "null", r.value(2),
				`{"name":`+name+`,"name":"Q","value":"1","value":"2"}`)
		}
		entries = append(entries, entry)
	}
	return "[" + strings.Join(entries, ",") + "]"
}

func (r *random) envMap(wild int) string {
	members := make([]string, 0, 4)
	for range r.IntN(5) {
		value := r.text()
		if r.chance(wild / 2) {
			value = r.value(1)
		}
		members = append(members, pick(r, `"A"`, `"B"`, `"S"`, `"Z"`, `"\u0041"`)+":"+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func (r *random) text() string {
	return pick(r, `""`, `"a"`, `"<&>"`, `"\u2028"`, `"é"`, `"\ud83c\udf89"`, `"\\\"\n\t\u0000\u001f\/"`, `"{\"a\":1}"`, `"null"`, `"\ud800"`)
}

// name is a member name: of either version, of nobody, or odd.
func (r *random) name() string {
	return pick(r, `"x"`, `"y"`, `"new"`, `"newThing"`, `"a.b"`, `""`, `"a\"b"`, `"\u0078"`, `"<"`, `"é"`,
		`"limits"`, `"failureThreshold"`, `"tcpSocket"`, `"exec"`, `"ephemeral-storage"`, `"rollingUpdate"`,
		`"args"`, `"volumes"`, `"state"`, `"phase"`, `"ready"`, `"replicas"`, `"scale"`, `"image"`, `"env"`)
}

// value is any JSON value.
func (r *random) value(depth int) string {
	if depth == 0 || r.chance(50) {
		return pick(r, "null", "true", "false", "0", "-0", "1", "1.50", "1e400", "9223372036854775808", "[]", "{}", r.text(), r.text())
	}
	n := r.IntN(3)
	parts := make([]string, n)
	if r.chance(50) {
		for i := range parts {
			parts[i] = r.value(depth - 1)
		}
		return "[" + strings.Join(parts, pick(r, ",", " , ", ",\n\t")) + "]"
	}
	for i := range parts {
		parts[i] = r.name() + pick(r, ":", " : ") + r.value(depth-1)
	}
	return "{" + strings.Join(parts, ",") + pick(r, "}", " }")
}

// deep is a value nested n times.
func deep(n int) string { return strings.Repeat(`[`, n) + "1" + strings.Repeat(`]`, n) }

// quotedJSON is text as a JSON string.
func quotedJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}
