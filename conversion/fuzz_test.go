package conversion

import (
	"encoding/json"
	"net/http"
	"reflect"
	"testing"
)

// FuzzConvert: any JSON object with a kind and version of ours converts, there and back to the same.
func FuzzConvert(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(object(c.kind, c.version, c.in))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var members map[string]any
		if json.Unmarshal(text, &members) != nil {
			return
		}
		for _, c := range standard.all {
			for _, version := range c.versions {
				if members["kind"] == c.kind.Kind && members["apiVersion"] == c.kind.Group+"/"+version {
					fuzzOne(t, text, c.kind.Kind, version)
				}
			}
		}
	})
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
	for _, c := range readCorpus(f) {
		f.Add(reviewOf(groupOf(c.kind)+"/"+otherVersion(c.version), object(c.kind, c.version, c.in)))
	}
	h := NewHandler(HandlerOptions{})
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, body)
		if w.Code == http.StatusBadRequest {
			return
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s\n-> %d %s", body, w.Code, w.Body)
		}
	})
}
