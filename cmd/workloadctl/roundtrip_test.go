package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubectlyaml "sigs.k8s.io/yaml"

	"github.com/example/workload-operator/conversion"
)

var objects = flag.Int("objects", 300, "random objects per kind, version and format")

// oddTexts are texts that YAML or its readers like to change.
var oddTexts = append(strings.Fields("yes no on off y N ~ null 0755 08 1e3 1_000 0x1F 0o17 1:30 2026-01-02 .5 .inf = << - ? ! & * # % @ ` | > : true 1e400"),
	"", " ", " lead", "trail ", "a: b", "a #b", "- a", "a\nb", "a\nb\n", "\n", "\na", "a\n\n", "  a\n b", "\ta", "a\tb\n c", "a\r\nb", "\r", "\u0085", "\u2028x", "\ufeff",
	"\u00e9\u4e16\U0001F600", "\x00\x01\x7f", `"`, `'`, `\`, `'"`, "{a}", "[a]", "---", "--- a", "...", "a\n---\nb", "a\n...\n", "# a\nb", "{{ .x }}", strings.Repeat("long ", 60))

var oddNumbers = strings.Fields(`0 -0 1 -1 9223372036854775807 -9223372036854775808 18446744073709551615 123456789012345678901234567890
	1.0 1.10 0.1 1e3 1E3 1e+3 1.5e-7 1e400 -1e400 0.30000000000000004 9007199254740993`)

type random struct{ *rand.Rand }

func pick[T any](r random, from []T) T { return from[r.IntN(len(from))] }

func text(t string) string {
	quoted, err := json.Marshal(t)
	if err != nil {
		return `""`
	}
	return string(quoted)
}

// value returns any JSON value as text.
func (r random) value(depth int) string {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0, 1:
		return text(pick(r, oddTexts))
	case 2:
		return pick(r, oddNumbers)
	case 3:
		return pick(r, []string{"null", "true", "false", "{}", "[]"})
	case 4, 5:
		return r.object(depth - 1)
	}
	var elements []string
	for range r.IntN(4) {
		elements = append(elements, r.value(max(0, depth-1)))
	}
	return "[" + strings.Join(elements, ",") + "]"
}

func (r random) object(depth int) string {
	var members []string
	names := map[string]bool{}
	for range r.IntN(4) {
		if name := pick(r, oddTexts); !names[name] {
			names[name] = true
			members = append(members, text(name)+":"+r.value(max(0, depth)))
		}
	}
	return "{" + strings.Join(members, ",") + "}"
}

// manifest returns an object with fields that its version has, likely and unlikely values in them, and any other fields.
func (r random) manifest(kind schema.GroupKind, version string) string {
	tree := map[string]any{}
	for _, field := range conversion.Fields(kind, "v1alpha1") {
		path := field.Hub
		if version != "v1" {
			path = field.Spoke
		}
		example, spoke, reshaped := strings.Cut(field.Example, " -> ")
		if reshaped && version != "v1" {
			example = spoke
		}
		for _, one := range strings.Fields(path) {
			switch {
			case r.IntN(100) < 70 || strings.Contains(path, "["):
			case strings.Contains(path, " ") || r.IntN(100) < 25:
				put(tree, strings.Split(one, "."), json.RawMessage(r.value(2)))
			default:
				put(tree, strings.Split(one, "."), json.RawMessage(example))
			}
		}
	}
	put(tree, []string{"spec", pick(r, []string{"extra", "yes", "0755", "1e3"})}, json.RawMessage(r.value(3)))
	tree["apiVersion"], tree["kind"] = kind.Group+"/"+version, kind.Kind
	annotations := map[string]string{}
	for range r.IntN(3) {
		annotations[pick(r, oddTexts)] = pick(r, oddTexts)
	}
	tree["metadata"] = map[string]any{"name": "x", "annotations": annotations}
	object, err := json.Marshal(tree)
	if err != nil {
		return err.Error()
	}
	return string(object)
}

func put(tree map[string]any, path []string, value any) {
	for _, name := range path[:len(path)-1] {
		next, ok := tree[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			tree[name] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}

// TestThereAndBack converts random objects to the other version and back, in both formats, and demands the same JSON value, digit
// by digit.
func TestThereAndBack(t *testing.T) {
	r := random{newRandom(t)}
	for _, kind := range conversion.Kinds() {
		for _, from := range []string{"v1", "v1alpha1"} {
			for _, format := range []string{"", formatYAMLName} {
				t.Run(fmt.Sprintf("%s %s %s", kind.Kind, from, format), func(t *testing.T) {
					for range *objects {
						checkThereAndBack(t, r.manifest(kind, from), format)
					}
				})
			}
		}
	}
}

func checkThereAndBack(t *testing.T, object, format string) {
	t.Helper()
	there, back := bothDown, bothUp
	if strings.Contains(object, `/v1alpha1"`) {
		there, back = bothUp, bothDown
	}
	args := []string{"convert", "-f", "-", "-o", format}
	if format == "" {
		args = args[:3]
	}
	first := runWith(object, append(args, "--to", there)...)
	second := runWith(first.stdout, append(args, "--to", back)...)
	if first.code != exitOK || second.code != exitOK {
		t.Fatalf("%s\n-> %s\n-> %s", object, first.stderr+first.stdout, second.stderr)
	}
	got, err := asJSON(second.stdout)
	if err != nil {
		t.Fatal(err)
	}
	if !equalJSON([]byte(object), got) {
		want, _ := decodeJSON([]byte(object))
		is, _ := decodeJSON(got)
		t.Fatalf("(-want +got):\n%s\n%s\n-> %s\n-> %s", cmp.Diff(want, is), object, first.stdout, second.stdout)
	}
	if format == formatYAMLName && !strings.Contains(object, "1e400") {
		checkLikeKubectl(t, first.stdout)
		checkLikeKubectl(t, second.stdout)
	}
}

func asJSON(document string) ([]byte, error) {
	if strings.HasPrefix(document, "{") {
		return []byte(document), nil
	}
	return ourJSON(document)
}

// TestStreams: split and put together again, and passed through, any stream is the same bytes.
func TestStreams(t *testing.T) {
	lines := []string{"---\n", "--- # c\n", "---\r\n", "...\n", "\n", "# comment\n", "%YAML 1.1\n", "a: b\n", "  - c\n", `{"a": 1}`, ` {"b": [2]}` + "\n", "--- {a: b}\n", "x", "\ufeff", "  \t\n"}
	r := random{newRandom(t)}
	for range 5000 {
		var in strings.Builder
		for range r.IntN(12) {
			in.WriteString(pick(r, lines))
		}
		var out bytes.Buffer
		number := 0
		for _, d := range split([]byte(in.String())) {
			if len(d.body) > 0 {
				if number++; d.number != number {
					t.Errorf("document %d has number %d: %q", number, d.number, &in)
				}
				if line := 1 + strings.Count(out.String()+string(d.prefix), "\n"); line != d.line {
					t.Errorf("document %d begins on line %d, not %d: %q", number, line, d.line, &in)
				}
			}
			out.Write(d.prefix)
			out.Write(d.body)
		}
		if out.String() != in.String() {
			t.Fatalf("%q became %q", &in, &out)
		}
		if got := runWith(in.String(), "convert", "-f", "-", "--to", bothUp); got.code == exitOK && got.stdout != in.String() {
			t.Fatalf("%q became %q", &in, got.stdout)
		}
	}
}

// TestEveryTextInYAML writes and reads each odd text and number as a value, with kubectl's reader too.
func TestEveryTextInYAML(t *testing.T) {
	values := slices.Clone(oddNumbers)
	for _, odd := range append(oddTexts, scalars...) {
		values = append(values, text(odd))
	}
	for _, value := range values {
		object := []byte(`{"a":` + value + `,"b":[` + value + `,[` + value + `]]}`)
		nodes, err := nodesOf(object)
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		written, err := renderYAML(object, nodes, kubectlLayout)
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		got, err := ourJSON(string(written))
		if err != nil || !equalJSON(object, got) {
			t.Errorf("%s: written as %s, read as %s, %v", value, written, got, err)
		}
		read, err := kubectlyaml.YAMLToJSON(written)
		if strings.Contains(value, "1e400") && value[0] != '"' {
			if err == nil {
				t.Errorf("%s: kubectl reads %s without an error", value, read)
			}
			continue
		}
		var want, is any
		if json.Unmarshal(object, &want) != nil || json.Unmarshal(read, &is) != nil || !cmp.Equal(want, is) {
			t.Errorf("%s: written as %s, kubectl reads %s, %v", value, written, read, err)
		}
	}
}
