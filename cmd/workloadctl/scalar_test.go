package main

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	kubectlyaml "sigs.k8s.io/yaml"
)

var seed = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

// newRandom returns a generator whose seed is printed and can be given back with -seed.
func newRandom(t testing.TB) *rand.Rand {
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d (repeat with -seed=%d)", s, s)
	return rand.New(rand.NewPCG(s, s))
}

// ourJSON reads YAML as this command does.
func ourJSON(text string) ([]byte, error) {
	root, err := parseYAML([]byte(text), 1)
	if err != nil {
		return nil, err
	}
	object, _, err := toJSON(root)
	return object, err
}

var scalars = strings.Fields(`yes Yes YES yEs no No NO on On ON off Off OFF y Y n N true True TRUE tRue false False FALSE null Null NULL nULL ~
	0 -0 +0 1 +1 -1 007 0755 -0755 08 09.5 0x1F -0x1f 0xg 0o17 0O17 0b101 -0b11 0b2 1_000 _1 1_ 1__0 0x_1 1e3 1E3 1e+3 1.5e-7 1e 1e+ .5 -.5 +.5 5. -5. . .. .e1 1.2.3
	1.25 1.10 12e03 1e400 -1e400 9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809
	18446744073709551615 18446744073709551616 123456789012345678901234567890 0.1 100000000000000000000000.0
	1:30 190:20:30 2026-01-02 2026-1-2 2026-01-02T03:04:05Z 2001-12-14t21:59:43.10-05:00 20260102
	.inf -.inf +.inf .Inf .nan .NaN .NAN inf nan Infinity NaN <<x = - -- +- a:b a#b 0xFFFFFFFFFFFFFFFF 0xFFFFFFFFFFFFFFFFF 10s 250m 1Gi 1e3m 25% sha256:ab`)

// TestScalarsLikeKubectl: every scalar means what it means to kubectl, as value and as key, however it is quoted. Only numbers
// with more digits than a float64 has are more exact here.
func TestScalarsLikeKubectl(t *testing.T) {
	all := append([]string{`""`, `''`, ""}, scalars...)
	for _, s := range scalars {
		all = append(all, `"`+s+`"`, "'"+s+"'", "!!str "+s, "! "+s)
	}
	r := newRandom(t)
	for range 20000 {
		var s strings.Builder
		for range 1 + r.IntN(6) {
			s.WriteByte("0123456789.eE+-_xob:~yn"[r.IntN(23)])
		}
		all = append(all, s.String())
	}
	for _, s := range all {
		for _, document := range []string{"a: " + s + "\n", s + ": a\n"} {
			checkLikeKubectl(t, document)
		}
	}
}

func checkLikeKubectl(t *testing.T, document string) {
	t.Helper()
	want, errWant := kubectlyaml.YAMLToJSON([]byte(document))
	got, errGot := ourJSON(document)
	if errWant != nil && strings.Contains(errWant.Error(), "type: uint64") {
		return // kubectl refuses such a key
	}
	if (errWant != nil) != (errGot != nil) {
		t.Errorf("%q: kubectl %s, %v; here %s, %v", document, want, errWant, got, errGot)
		return
	}
	if errWant != nil {
		return
	}
	var wanted, read any
	if err := json.Unmarshal(want, &wanted); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &read); err != nil {
		t.Errorf("%q: %s: %v", document, got, err)
		return
	}
	if keys, ok := wanted.(map[string]any); ok && keys["-0"] != nil {
		return // as a key, a negative zero with a point is 0 here
	}
	if !reflect.DeepEqual(wanted, read) {
		t.Errorf("%q: kubectl reads %s, here %s", document, want, got)
	}
}

// TestDocumentsLikeKubectl compares the same for merges, aliases, tags and repeated keys.
func TestDocumentsLikeKubectl(t *testing.T) {
	for _, document := range []string{
		"a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n", "a: &x {b: 1, c: 2}\nd: {b: 3, <<: *x}\n",
		"a: &x {b: 1}\ny: &y {b: 2, c: 3}\nd: {<<: [*x, *y]}\n", "d: {<<: [{b: 1}, {b: 2}]}\n", "d: {<<: {b: {e: 1}}, b: {f: 1}}\n",
		"a: {'<<': {b: 1}}\n", "a: &x [1, two]\nb: *x\n", "a: 1\na: 2\n", "a: {b: 1, b: {c: 1}}\n",
		"a: !!binary aGVsbG8=\n", "a: !!float 1\n", "a: !foo bar\n", "a: !!bool yes\n", "a: !!null ''\n",
		"a: |\n  x\n   y\n\n", "a: >-\n  x\n  y\n", "a: \"\\u263a\\x41\\/\"\n", "? a\n: b\n", "{a: [], b: {}, c: }\n", "a: 'it''s'\n",
		"&k a: 1\nb: *k\n", "a: b\n...\n", "%YAML 1.1\n---\na: yes\n", "- a\n- [b, c]\n", "plain\n",
		"a: x\r\nb: |\r\n  c\r\n  d\r\n",
	} {
		checkLikeKubectl(t, document)
	}
}
