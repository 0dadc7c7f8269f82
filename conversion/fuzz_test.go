package conversion

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FuzzConvert: any JSON object with a kind and version of ours converts, there and back to the same.
func FuzzConvert(f *testing.F) {
	for _, c := range readCorpus(f) {
		f.Add(object(c.kind, c.version, c.in))
	}
	r := &random{rand.New(rand.NewPCG(1, 1))}
	for _, c := range standard.all {
		for range 20 {
			f.Add(r.planted(c, hubVersion))
			f.Add(r.planted(c, "v1alpha1"))
		}
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
		response := answered(t, w)
		if response.Result.Status != metav1.StatusSuccess {
			return
		}
		var review map[string]any
		if err := json.Unmarshal(body, &review); err != nil {
			t.Fatalf("%s is no JSON and is answered", body)
		}
		if asked, _ := at(review, "request.objects").([]any); len(asked) != len(response.ConvertedObjects) {
			t.Fatalf("%s\n-> %d objects", body, len(response.ConvertedObjects))
		}
	})
}
