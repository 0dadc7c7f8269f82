package conversion

import (
	"bytes"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

const corpusFile = "../test/corpus/conversion/cases.txt"

// corpusCase is one case of the corpus; its form is described there.
type corpusCase struct {
	name                 string
	version, kind        string
	in, out              string
	kept, raw, back, bad string
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	text, err := os.ReadFile(corpusFile)
	if err != nil {
		t.Fatal(err)
	}
	var cases []corpusCase
	for _, block := range strings.Split(string(text), "\n\n") {
		lines := strings.Split(strings.TrimSpace(block), "\n")
		if strings.HasPrefix(lines[0], "#") || lines[0] == "" {
			continue
		}
		c := corpusCase{name: lines[0]}
		for _, line := range lines[1:] {
			c.read(t, line)
		}
		cases = append(cases, c)
	}
	return cases
}

func (c *corpusCase) read(t testing.TB, line string) {
	t.Helper()
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "in":
		parts := strings.SplitN(rest, " ", 3)
		c.version, c.kind, c.in = parts[0], parts[1], parts[2]
	case "out":
		c.out = rest
	case "kept":
		c.kept = rest
	case "raw":
		c.raw = rest
	case "back":
		c.back = rest
	case "bad":
		c.bad = rest
	default:
		t.Fatalf("%s: unknown line %q", c.name, line)
	}
}

// object adds apiVersion and kind to a body.
func object(kind, version, body string) []byte {
	head := `{"apiVersion":"` + groupOf(kind) + "/" + version + `","kind":"` + kind + `"`
	if body == "{}" {
		return []byte(head + "}")
	}
	return []byte(head + "," + body[1:])
}

func groupOf(kind string) string {
	for _, known := range Kinds() {
		if known.Kind == kind {
			return known.Group
		}
	}
	return "none.example.com"
}

func otherVersion(version string) string {
	if version == hubVersion {
		return "v1alpha1"
	}
	return hubVersion
}

// mustConvert converts an object and demands that nothing but the result changes.
func mustConvert(t testing.TB, object []byte, kind, version string) Result {
	t.Helper()
	before := bytes.Clone(object)
	result, err := Convert(object, groupOf(kind)+"/"+version)
	if err != nil {
		t.Fatalf("Convert(%s): %v", object, err)
	}
	if !bytes.Equal(before, object) {
		t.Fatalf("Convert changed its input %s", before)
	}
	if !json.Valid(result.Object) {
		t.Fatalf("Convert(%s) is no JSON: %s", object, result.Object)
	}
	return result
}

// decoded is a JSON value with numbers as written.
func decoded(t testing.TB, text []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("decoding %s: %v", text, err)
	}
	return value
}

// takeAnnotation removes an annotation of an object and returns it. Annotations that are empty then go too.
func takeAnnotation(object any, key string) (string, bool) {
	metadata, _ := object.(map[string]any)["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[key].(string)
	if !ok {
		return "", false
	}
	delete(annotations, key)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return value, true
}

func equalJSON(t testing.TB, what string, want, got []byte) {
	t.Helper()
	if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestCorpus runs every case of the corpus there and back: C-01 to C-44.
func TestCorpus(t *testing.T) {
	for _, c := range readCorpus(t) {
		t.Run(c.name, func(t *testing.T) {
			in, to := object(c.kind, c.version, c.in), otherVersion(c.version)
			result := mustConvert(t, in, c.kind, to)
			got := decoded(t, result.Object)
			kept, _ := takeAnnotation(got, workloadv1.AnnotationV1Fields)
			raw, _ := takeAnnotation(got, workloadv1.AnnotationUnconvertible)
			if diff := cmp.Diff(decoded(t, object(c.kind, to, c.out)), got); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
			equalAnnotation(t, "kept", c.kept, kept)
			want := c.raw
			if want != "" {
				want = `{"` + c.version + `":` + want + `}`
			}
			equalAnnotation(t, "raw", want, raw)
			if bad, _ := strconv.Atoi(c.bad); len(result.Quarantined) != bad {
				t.Errorf("unreadable: got %v, want %d", result.Quarantined, bad)
			}
			if len(result.Lost) > 0 || result.Malformed > 0 {
				t.Errorf("lost %v, malformed %d", result.Lost, result.Malformed)
			}
			back := mustConvert(t, result.Object, c.kind, c.version)
			wantBack := c.back
			if wantBack == "" {
				wantBack = c.in
			}
			equalJSON(t, "back", object(c.kind, c.version, wantBack), back.Object)
		})
	}
}

func equalAnnotation(t *testing.T, what, want, got string) {
	t.Helper()
	if want == "" || got == "" {
		if want != got {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
		return
	}
	equalJSON(t, what, []byte(want), []byte(got))
}
