package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/example/workload-operator/conversion"
)

func TestDefault(t *testing.T) {
	noPort := `{"spec": {"probes": {"readiness": {"httpGet": {"path": "/x", "port": null}}}}}`
	tests := map[string]struct {
		reason string
		kind   schema.GroupKind
		change []string
		want   string
	}{
		"nothing to do":   {"a valid object stays as it is", webApp, nil, ``},
		"targetPort":      {"A-19: the container listens there", webApp, []string{noPort, `{"spec": {"targetPort": 9000}}`}, `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":9000}]`},
		"port":            {"A-19: unset targetPort means port, and stays unset", webApp, []string{noPort, `{"spec": {"port": 81}}`}, `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":81}]`},
		"neither":         {"80 is the schema's default for port", webApp, []string{noPort, `{"spec": {"port": null}}`}, `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":80}]`},
		"not a port":      {"a wrong value is for the schema to refuse", webApp, []string{noPort, `{"spec": {"port": "http"}}`}, `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":80}]`},
		"a PodSet":        {"it has no port of its own", podSet, []string{noPort}, ``},
		"another handler": {"only HTTP probes have this default", webApp, []string{`{"spec": {"probes": {"readiness": {"httpGet": null, "tcpSocket": {}}}}}`}, ``},
		"another probe":   {"v1alpha1 knows readiness only", webApp, []string{`{"spec": {"probes": {"liveness": {"httpGet": {"path": "/"}}}}}`}, ``},
		"PodSet":          {"has no port to take", podSet, nil, ``},
		"planted": {"it belongs on views in older versions", webApp, []string{`{"metadata": {"annotations": {"workload.example.com/v1-fields": "{}", "a": "b"}}}`},
			`[{"op":"remove","path":"/metadata/annotations/workload.example.com~1v1-fields"}]`},
		"planted alone": {"no empty map is left behind", podSet, []string{`{"metadata": {"annotations": {"workload.example.com/v1-fields": "{}"}}}`},
			`[{"op":"remove","path":"/metadata/annotations"}]`},
		"spelling": {"nothing else is touched, however it is written", webApp, []string{noPort, `{"spec": {"args": ["<&>\u2028"], "terminationGracePeriodSeconds": 9223372036854775807,
			"resources": {"requests": {"cpu": "1000m", "memory": 1.0}}, "future": {"a": [1, 2]}}}`}, `[{"op":"add","path":"/spec/probes/readiness/httpGet/port","value":80}]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := Request{Kind: test.kind, Version: "v1", Object: base(t, test.kind.WithVersion("v1"), test.change...)}
			defaulted, err := Default(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, patchText(t, r.Object, defaulted)); diff != "" {
				t.Errorf("%s: patch (-want +got):\n%s", test.reason, diff)
			}
			again, err := Default(Request{Kind: r.Kind, Version: r.Version, Object: defaulted})
			if err != nil || patchText(t, defaulted, again) != "" {
				t.Errorf("a second time: %s, %v", patchText(t, defaulted, again), err)
			}
		})
	}
}

// The laws of defaulting, on everything that is valid: what was valid stays valid, and a second time changes nothing.
func TestDefaultLaws(t *testing.T) {
	r := rules(t)
	for _, gk := range []schema.GroupKind{webApp, podSet} {
		for _, sample := range samplesOf(gk) {
			if sample.want != "" {
				continue
			}
			request := Request{Kind: gk, Version: "v1", Object: base(t, gk.WithVersion("v1"), `{"spec": `+sample.spec+`}`)}
			defaulted, err := Default(request)
			if err != nil {
				t.Fatalf("%s: %v", sample.reason, err)
			}
			checkField(t, verdict(t, r, Request{Kind: gk, Version: "v1", Object: defaulted}), "")
			if again, err := Default(Request{Kind: gk, Version: "v1", Object: defaulted}); err != nil || patchText(t, defaulted, again) != "" {
				t.Errorf("%s: changed again: %s, %v", sample.reason, patchText(t, defaulted, again), err)
			}
			if back := thereAndBack(t, defaulted); patchText(t, defaulted, back) != "" {
				t.Errorf("%s: lost on the way through v1alpha1: %s", sample.reason, patchText(t, defaulted, back))
			}
		}
	}
}

// thereAndBack is the way that the API server takes with an object after defaulting, if it was written in v1alpha1.
func thereAndBack(t testing.TB, object []byte) []byte {
	t.Helper()
	group, _, _ := strings.Cut(decodedObject(t, object).GetAPIVersion(), "/")
	view, err := conversion.Convert(object, group+"/v1alpha1")
	if err != nil {
		t.Fatal(err)
	}
	back, err := conversion.Convert(view.Object, group+"/v1")
	if err != nil {
		t.Fatal(err)
	}
	return back.Object
}

func TestDifference(t *testing.T) {
	tests := map[string]struct{ before, after, want string }{
		"equal":              {`{"a": 1}`, `{"a":1}`, ``},
		"escapes":            {`{"a": "<"}`, `{"a": "\u003c"}`, ``},
		"numbers as written": {`{"a": 1}`, `{"a": 1.0}`, `[{"op":"replace","path":"/a","value":1.0}]`},
		"large numbers":      {`{"a": 9007199254740993}`, `{"a": 9007199254740992}`, `[{"op":"replace","path":"/a","value":9007199254740992}]`},
		"deep":               {`{"a": {"b": {"c": 1, "d": 2}}}`, `{"a": {"b": {"d": 3, "e": null}}}`, `[{"op":"remove","path":"/a/b/c"},{"op":"replace","path":"/a/b/d","value":3},{"op":"add","path":"/a/b/e","value":null}]`},
		"lists whole":        {`{"a": [1, 2]}`, `{"a": [1, 3]}`, `[{"op":"replace","path":"/a","value":[1,3]}]`},
		"another type":       {`{"a": {"b": 1}}`, `{"a": [1]}`, `[{"op":"replace","path":"/a","value":[1]}]`},
		"null to object":     {`{"a": null}`, `{"a": {}}`, `[{"op":"replace","path":"/a","value":{}}]`},
		"pointer":            {`{}`, `{"a/b~c": 1}`, `[{"op":"add","path":"/a~1b~0c","value":1}]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, patchText(t, []byte(test.before), []byte(test.after))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func patchText(t testing.TB, before, after []byte) string {
	t.Helper()
	operations := difference("", before, after)
	if len(operations) == 0 {
		return ""
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
