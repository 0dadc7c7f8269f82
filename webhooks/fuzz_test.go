package webhooks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func FuzzReview(f *testing.F) {
	compiled := rules(f)
	for _, gk := range []schema.GroupKind{webApp, podSet} {
		for _, version := range []string{"v1", "v1alpha1"} {
			for _, sample := range samplesOf(gk) {
				object := base(f, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`)
				review, err := json.Marshal(admissionv1.AdmissionReview{Request: requestFor(gk, version, object, base(f, gk.WithVersion("v1")))})
				if err != nil {
					f.Fatal(err)
				}
				f.Add(review)
			}
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, review := range []review{mutate, compiled.review} {
			answer := post(t, handler{name: "fuzz", review: review}, "application/json", string(body))
			text := answer.Body.String()
			if strings.HasPrefix(text, "panic") {
				t.Fatal(text)
			}
			if answer.Code == http.StatusOK && !json.Valid([]byte(text)) {
				t.Fatalf("not JSON: %s", text)
			}
		}
	})
}

// FuzzObjects reviews objects that are whatever they are. Whatever can be reviewed is defaulted once and for all.
func FuzzObjects(f *testing.F) {
	compiled := rules(f)
	for _, gk := range []schema.GroupKind{webApp, podSet} {
		for _, sample := range samplesOf(gk) {
			object := base(f, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`)
			f.Add(gk == podSet, false, object, []byte(nil))
			f.Add(gk == podSet, true, object, base(f, gk.WithVersion("v1"), `{"spec": {"hostAliases": [{}], "args": ["a"]}}`))
		}
	}
	f.Fuzz(func(t *testing.T, ofPodSet, older bool, object, old []byte) {
		request := Request{Kind: webApp, Version: "v1", Object: object}
		if ofPodSet {
			request.Kind = podSet
		}
		if older {
			request.Version = "v1alpha1"
		}
		if len(old) > 0 {
			request.Old = old
		}
		if request.check() != nil {
			return
		}
		defaulted, err := Default(request)
		if err != nil {
			return
		}
		request.Object = defaulted
		again, err := Default(request)
		if err != nil {
			t.Fatal(err)
		}
		if operations := difference("", defaulted, again); len(operations) > 0 {
			t.Fatalf("changed again: %+v", operations)
		}
		if _, err := compiled.Validate(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	})
}
