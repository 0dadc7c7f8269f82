package webhooks

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// samplesOf lists the samples of a kind.
func samplesOf(gk schema.GroupKind) []sample {
	if gk == webApp {
		return slices.Concat(settingsSamples, ruleSamples, webAppSamples)
	}
	return slices.Concat(settingsSamples, ruleSamples, portSamples, podSetSamples)
}

// Covers in v1 without a cluster.
func TestSamples(t *testing.T) {
	r := rules(t)
	for _, gk := range []schema.GroupKind{webApp, podSet} {
		for _, sample := range samplesOf(gk) {
			t.Run(gk.Kind+"/"+sample.reason, func(t *testing.T) {
				object := base(t, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`)
				checkField(t, verdict(t, r, Request{Kind: gk, Version: "v1", Object: object}), sample.want)
			})
		}
	}
}

// the limit and the name of the field are in the message; an update does not look at the name.
func TestNames(t *testing.T) {
	r := rules(t)
	tests := map[string]struct {
		kind schema.GroupKind
		name string
		want string
	}{
		"WebApp of 59":       {webApp, long(59), ""},
		"WebApp of 60":       {webApp, long(60), "metadata.name must be at most 59 characters"},
		"dot":                {webApp, "my.app", "metadata.name must be a DNS label"},
		"digit first":        {webApp, "1web", ""},
		"PodSet of 52":       {podSet, long(52), ""},
		"PodSet of 53":       {podSet, long(53), "metadata.name must be at most 52 characters"},
		"dot in PodSet name": {podSet, "my.set", "metadata.name must be a DNS label"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			object := base(t, test.kind.WithVersion("v1"), fmt.Sprintf(`{"metadata": {"name": %q}}`, test.name))
			errs := verdict(t, r, Request{Kind: test.kind, Version: "v1", Object: object})
			checkMessage(t, errs, test.want)
			changed := merged(t, string(object), `{"spec": {"replicas": 3}}`)
			checkMessage(t, verdict(t, r, Request{Kind: test.kind, Version: "v1", Object: changed, Old: object}), "")
		})
	}
}

// only what a change makes worse is refused, by CEL and by the rules here.
func TestRatchet(t *testing.T) {
	r := rules(t)
	bad := map[string]string{
		"mount without a volume (CEL)": `{"volumeMounts": [{"name": "gone", "mountPath": "/gone"}]}`,
		"image (rule)":                 `{"image": "Web App"}`,
		"device (rule)":                `{"resources": {"requests": {"gpu": "1"}}}`,
		"variable (rule)":              `{"env": [{"name": "A=B"}]}`,
		"deadline (CEL)":               `{"minReadySeconds": 700}`,
		"overflow (cannot decode)":     `{"terminationGracePeriodSeconds": 1e300}`,
	}
	fine := map[string]string{
		"no change":     `{}`,
		"label":         `{"metadata": {"labels": {"a": "b"}}}`,
		"annotation":    `{"metadata": {"annotations": {"a": "b"}}}`,
		"finalizer":     `{"metadata": {"finalizers": ["example.net/hold"]}}`,
		"replicas":      `{"spec": {"replicas": 3}}`,
		"one more port": `{"spec": {"port": 81}}`,
	}
	for name, spec := range bad {
		for change, patch := range fine {
			t.Run(name+"/"+change, func(t *testing.T) {
				old := base(t, webApp.WithVersion("v1"), `{"spec": `+spec+`}`)
				checkField(t, verdict(t, r, Request{Kind: webApp, Version: "v1", Object: merged(t, string(old), patch), Old: old}), "")
			})
		}
	}
}

// what gets worse is refused, and only that is named.
func TestRatchetRefusesWorse(t *testing.T) {
	r := rules(t)
	tests := map[string]struct{ old, change, want string }{
		"second bad mount": {
			`{"volumeMounts": [{"name": "gone", "mountPath": "/gone"}]}`,
			`{"volumeMounts": [{"name": "lost", "mountPath": "/lost"}, {"name": "gone", "mountPath": "/gone"}]}`,
			"spec.volumeMounts",
		},
		"second bad variable, first": {
			`{"env": [{"name": "A=B"}]}`,
			`{"env": [{"name": "C=D"}, {"name": "A=B"}]}`,
			"spec.env[0].name",
		},
		"the same once more": {
			`{"tolerations": [{"key": "a b", "operator": "Exists"}]}`,
			`{"tolerations": [{"key": "a b", "operator": "Exists"}, {"key": "a b", "operator": "Exists"}]}`,
			"spec.tolerations[1].key",
		},
		"another bad image": {`{"image": "Web App"}`, `{"image": "Other App"}`, "spec.image"},
		"the deadline":      {`{}`, `{"minReadySeconds": 700}`, "spec.progressDeadlineSeconds"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			old := base(t, webApp.WithVersion("v1"), `{"spec": `+test.old+`}`)
			object := merged(t, string(old), `{"spec": `+test.change+`}`)
			checkField(t, verdict(t, r, Request{Kind: webApp, Version: "v1", Object: object, Old: old}), test.want)
		})
	}
}

// what is being deleted is always allowed.
func TestBeingDeleted(t *testing.T) {
	r := rules(t)
	old := base(t, webApp.WithVersion("v1"), `{"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": ["example.net/hold"]}}`)
	object := merged(t, string(old), `{"metadata": {"finalizers": null}, "spec": {"image": "Web App"}}`)
	for _, version := range []string{"v1", "v1alpha1"} {
		got, err := r.Validate(t.Context(), Request{Kind: webApp, Version: version, Object: object, Old: old})
		if err != nil || len(got.Errors) > 0 || len(got.Warnings) > 0 {
			t.Errorf("%s: got %v, %v", version, got, err)
		}
	}
}

// Unknown fields are dropped before an object is stored, also those that differ from known ones by case alone.
func TestUnknownFieldsByCase(t *testing.T) {
	object := base(t, webApp.WithVersion("v1"), `{"spec": {"Tolerations": [{"key": "a b"}], "serviceaccountname": "No_Name"}}`)
	for _, version := range versions {
		got, err := rules(t).Validate(t.Context(), Request{Kind: webApp, Version: version, Object: object})
		if err != nil {
			t.Fatal(err)
		}
		checkField(t, got.Errors, "")
	}
}

// A kind that is not ours, and objects that are none, cannot be judged. That is no refusal.
func TestCannotJudge(t *testing.T) {
	r := rules(t)
	for name, request := range map[string]Request{
		"foreign kind": {Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Version: "v1", Object: []byte(`{}`)},
		"no object":    {Kind: webApp, Version: "v1", Object: []byte(`[]`)},
		"another kind": {Kind: webApp, Version: "v1", Object: base(t, podSet.WithVersion("v1"))},
		"not in v1":    {Kind: webApp, Version: "v1alpha1", Object: base(t, webApp.WithVersion("v1alpha1"))},
		"no old":       {Kind: webApp, Version: "v1", Object: base(t, webApp.WithVersion("v1")), Old: []byte{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := r.Validate(t.Context(), request); err == nil {
				t.Errorf("got %v", got)
			}
			if got, err := Default(request); err == nil && name != "foreign kind" {
				t.Errorf("defaulted to %s", got)
			}
		})
	}
}

// A description that v1alpha1 could not take back is refused when it is set in v1. Where one is stored, it hinders nothing.
func TestDescription(t *testing.T) {
	r := rules(t)
	const at = "metadata.annotations[batch.example.com/description]"
	describe := func(text string) string {
		return `{"metadata": {"annotations": {"batch.example.com/description": "` + text + `"}}}`
	}
	fits := base(t, podSet.WithVersion("v1"), describe(strings.Repeat("é", 4096)))
	tooLong := base(t, podSet.WithVersion("v1"), describe(strings.Repeat("é", 4097)))
	checkField(t, verdict(t, r, Request{Kind: podSet, Version: "v1", Object: fits}), "")
	checkField(t, verdict(t, r, Request{Kind: podSet, Version: "v1", Object: tooLong}), at)
	checkField(t, verdict(t, r, Request{Kind: podSet, Version: "v1", Object: tooLong, Old: fits}), at)
	for _, change := range []string{`{"spec": {"replicas": 3}}`, `{"metadata": {"annotations": {"a": "b"}}}`, describe("short")} {
		for _, version := range versions {
			got, err := r.Validate(t.Context(), Request{Kind: podSet, Version: version, Object: merged(t, string(tooLong), change), Old: tooLong})
			if err != nil || len(got.Errors) > 0 {
				t.Errorf("%s in %s: %v, %v", change, version, got.Errors, err)
			}
		}
	}
}

func checkMessage(t testing.TB, errs field.ErrorList, want string) {
	t.Helper()
	text := ""
	if len(errs) > 0 {
		text = errs.ToAggregate().Error()
	}
	if want == "" && text != "" || want != "" && !strings.Contains(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
}
