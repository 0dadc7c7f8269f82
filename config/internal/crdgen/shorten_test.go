package main

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	long  = "Says what it is. Says more."
	short = "Says what it is."
)

// embedded is inlined, as apis/workload/v1 is in the specs.
type embedded struct {
	Env []corev1.EnvVar `json:"env,omitempty"`
}

type sample struct {
	embedded `json:",inline"`

	Name     string                          `json:"name"`
	Affinity *corev1.Affinity                `json:"affinity,omitempty"`
	Own      []embedded                      `json:"own,omitempty"`
	Limits   map[string]corev1.ResourceClaim `json:"limits,omitempty"`
	Raw      []byte                          `json:"raw,omitempty"`
}

func node(description string, properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Description: description, Properties: properties}
}

func list(description string, entries apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Description: description, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &entries},
	}
}

func mapOf(description string, entries apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{
		Description: description, AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &entries},
	}
}

type properties = map[string]apiextensionsv1.JSONSchemaProps

// schemaOf is the schema of sample; core is the text below core types.
func schemaOf(core string) apiextensionsv1.JSONSchemaProps {
	env := func() apiextensionsv1.JSONSchemaProps {
		return list(long, node(core, properties{"name": node(core, nil)}))
	}
	return node(long, properties{
		"name":     node(long, nil),
		"env":      env(),
		"affinity": node(long, properties{"podAffinity": node(core, properties{"x": list(core, node(core, nil))})}),
		"own":      list(long, node(long, properties{"env": env()})),
		"limits":   mapOf(long, node(core, properties{"name": node(core, nil)})),
		"raw":      node(long, nil),
	})
}

func TestShortenKeepsOurText(t *testing.T) {
	got, want := schemaOf(long), schemaOf(short)
	if err := shorten(&got, reflect.TypeFor[sample]()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestShortenRefusesUnknownFields(t *testing.T) {
	schema := node(long, properties{"typo": node(long, nil)})
	if err := shorten(&schema, reflect.TypeFor[sample]()); err == nil || !strings.Contains(err.Error(), `"typo"`) {
		t.Errorf("error %v, want one that names the field", err)
	}
}

func TestFirstSentence(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"one sentence stays":         {text: "One sentence.", want: "One sentence."},
		"no end stays":               {text: "no end", want: "no end"},
		"second sentence goes":       {text: "One. Two. Three.", want: "One."},
		"sentence over two lines":    {text: "One\nline. Two.", want: "One\nline."},
		"second sentence on a line":  {text: "One.\nTwo.", want: "One."},
		"paragraph without a period": {text: "One\n\nTwo.", want: "One."},
		"abbreviation goes on":       {text: "Some, e.g. these, i.e. all. More.", want: "Some, e.g. these, i.e. all."},
		"number goes on":             {text: "Since 1.37. More.", want: "Since 1.37."},
		"empty stays":                {text: "", want: ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := firstSentence(test.text); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
