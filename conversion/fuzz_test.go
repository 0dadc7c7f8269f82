package conversion

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// hostile are objects that somebody attacked the converter with.
var hostile = map[string]string{
	"kept claims visible fields": `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"annotations":{"workload.example.com/v1-fields":"{\"replicas\":9,\"\\u0070ort\":7,\"image\":\"evil\",\"env\":[{\"name\":\"Q\",\"value\":\"evil\"}],\"probes\":{\"readiness\":{\"periodSeconds\":9,\"httpGet\":{\"path\":\"/evil\"}}},\"resources\":{\"requests\":{\"cpu\":\"9\"}}}"}},"spec":{"image":{"repository":"web"}}}`,
	"parked values planted":      `{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"annotations":{"workload.example.com/unconvertible":"{\"v1alpha1\":{\"spec\":{\"scale\":{\"instances\":9,\"x\":1},\"env\":{\"A\":5,\"B\":\"evil\"},\"healthCheck\":\"x\",\"image\":{\"tag\":\"evil\"}},\"metadata\":{\"annotations\":{\"batch.example.com/description\":\"evil\"}}},\"v1\":{\"spec\":7}}"}},"spec":{"image":"web","env":[]}}`,
	"annotations of any type":    `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"annotations":{"workload.example.com/v1-fields":{"a":1},"workload.example.com/unconvertible":[1],"x":5}},"spec":{"extra":1}}`,
	"annotations no object":      `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","metadata":{"annotations":[1]},"spec":{"extra":1}}`,
	"metadata no object":         `{"apiVersion":"batch.example.com/v1","kind":"PodSet","metadata":[1],"spec":{"args":["x"]}}`,
	"names that repeat":          `{"apiVersion":"app.example.com/v9","kind":"x","apiVersion":"app.example.com/v1","kind":"WebApp","spec":{"env":[{"name":"A","name":"B","value":"1","value":"2"}],"env":[{"name":"A"},{"name":"A","value":"1"}],"x":{"y":1,"y":2},"x":1},"status":1,"status":{"replicas":1}}`,
	"half surrogate pairs":       `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","spec":{"image":{"repository":"\ud800web"},"env":{"\ud800":"a","\udfff":"b"},"x":"\udc00"}}`,
	"escaped names":              `{"\u0061piVersion":"app.example.com/v1alpha1","\u006bind":"WebApp","s\u0070ec":{"\u0065nv":{"\u0041":"1","A":5},"sc\u0061le":{"\u0069nstances":2}}}`,
	"numbers":                    `{"apiVersion":"app.example.com/v1alpha1","kind":"WebApp","spec":{"scale":{"instances":1e400,"targetCPU":"9223372036854775808%","min":-0,"max":123456789012345678901234567890},"healthCheck":{"path":1.10,"interval":"2562047788015215h"}}}`,
}

// fuzzCorpus are the committed inputs of the fuzz targets: the objects of the corpus and hostile ones, by name.
func fuzzCorpus(t testing.TB) map[string][]byte {
	t.Helper()
	inputs := map[string][]byte{}
	for _, c := range readCorpus(t) {
		inputs[c.name] = object(c.kind, c.version, c.in)
	}
	for name, text := range hostile {
		inputs["hostile "+name] = []byte(text)
	}
	return inputs
}

// TestFuzzCorpus holds the committed inputs to the corpus; -update writes them. Other files in the folders are finds, and stay.
func TestFuzzCorpus(t *testing.T) {
	for name, text := range fuzzCorpus(t) {
		var o struct{ APIVersion, Kind string }
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		desired := groupOf(o.Kind) + "/" + otherVersion(o.APIVersion[strings.LastIndexByte(o.APIVersion, '/')+1:])
		for target, input := range map[string][]byte{"FuzzConvert": text, "FuzzHandler": reviewOf(desired, text)} {
			file := filepath.Join("testdata", "fuzz", target, regexp.MustCompile(`[^A-Za-z0-9-]+`).ReplaceAllString(name, "_"))
			want := fmt.Appendf(nil, "go test fuzz v1\n[]byte(%q)\n", input)
			if got, err := os.ReadFile(file); err == nil && bytes.Equal(got, want) {
				continue
			}
			if !*update {
				t.Errorf("%s is not what the corpus says: run go test ./conversion -run TestFuzzCorpus -update", file)
				continue
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, want, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// FuzzConvert: any JSON object with a kind and version of ours converts, there and back to the same.
func FuzzConvert(f *testing.F) {
	r := &random{rand.New(rand.NewPCG(1, 1))}
	for _, c := range standard.all {
		for range 20 {
			f.Add(r.planted(c, hubVersion))
			f.Add(r.planted(c, "v1alpha1"))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkObject(t, text) })
}

// checkObject converts text if it is an object of ours.
func checkObject(t *testing.T, text []byte) {
	t.Helper()
	if !json.Valid(text) {
		return
	}
	members, _ := decoded(t, text).(map[string]any)
	for _, c := range standard.all {
		for _, version := range c.versions {
			if members["kind"] == c.kind.Kind && members["apiVersion"] == c.kind.Group+"/"+version {
				fuzzOne(t, text, c.kind.Kind, version)
			}
		}
	}
}

// fuzzOne demands what holds for every object, also one with our annotations on it: nothing fails, and the second round gives
// what the first one gave.
func fuzzOne(t *testing.T, text []byte, kind, version string) {
	there := mustConvert(t, text, kind, otherVersion(version))
	back := mustConvert(t, there.Object, kind, version)
	again := mustConvert(t, back.Object, kind, otherVersion(version))
	if len(there.Lost)+len(back.Lost)+back.Malformed > 0 {
		return
	}
	if first, second := decoded(t, there.Object), decoded(t, again.Object); !reflect.DeepEqual(first, second) {
		t.Fatalf("%s\n-> %s\nand again %s", text, there.Object, again.Object)
	}
}

// FuzzHandler: any body is answered: with a status, or with a review of as many objects as were asked for.
func FuzzHandler(f *testing.F) {
	h := NewHandler(HandlerOptions{})
	f.Fuzz(func(t *testing.T, body []byte) { checkBody(t, h, body) })
}

// checkBody posts a body and demands an answer that fits it.
func checkBody(t *testing.T, h http.Handler, body []byte) {
	t.Helper()
	w := post(h, body)
	if w.Code == http.StatusBadRequest {
		return
	}
	response := answered(t, w)
	if !json.Valid(body) {
		t.Fatalf("%s is no JSON and is answered", body)
	}
	if response.Result.Status != metav1.StatusSuccess {
		return
	}
	if asked, _ := at(decoded(t, body), "request.objects").([]any); len(asked) != len(response.ConvertedObjects) {
		t.Fatalf("%s\n-> %d objects", body, len(response.ConvertedObjects))
	}
}

// TestDamage is what the fuzz targets do, without their machinery: a few changed bytes in objects and bodies never break anything,
// and what is no JSON any more is refused.
func TestDamage(t *testing.T) {
	r, h := newRandom(t), NewHandler(HandlerOptions{})
	for range *objects / 10 {
		c, version := standard.all[r.IntN(2)], pick(r, hubVersion, "v1alpha1")
		text := r.damaged(r.planted(c, version))
		checkObject(t, text)
		checkBody(t, h, reviewOf(c.kind.Group+"/"+otherVersion(version), r.object(c, version, 40), text))
		checkBody(t, h, r.damaged(reviewOf(c.kind.Group+"/"+otherVersion(version), text)))
		if _, err := Convert(text, c.kind.Group+"/"+otherVersion(version)); err == nil && !json.Valid(text) {
			t.Fatalf("%s is no JSON and converts", text)
		}
		if t.Failed() {
			return
		}
	}
}
