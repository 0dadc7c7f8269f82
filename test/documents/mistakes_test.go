package documents

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// wrong is what people put where something else belongs. Null is no mistake where the value may be absent.
var wrong = []any{nil, "x", int64(-1), int64(1 << 31), []any{nil}, map[string]any{}}

// mistakes are the objects that follow from a valid one by a single change of its spec: another value in one place, a member that is
// missing, or one that nobody knows.
func mistakes(of candidate) []candidate {
	var all []candidate
	add := func(path string) {
		all = append(all, candidate{name: of.name + ": " + path, content: runtime.DeepCopyJSON(of.content)})
	}
	var visit func(path string, value any, set func(any))
	visit = func(path string, value any, set func(any)) {
		for _, other := range wrong {
			set(other)
			add(fmt.Sprintf("%s = %v", path, other))
		}
		set(value)
		switch value := value.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(value)) {
				member := value[name]
				delete(value, name)
				add("no " + path + "." + name)
				value[name] = member
				visit(path+"."+name, member, func(other any) { value[name] = other })
			}
			value["unheardOf"] = "x"
			add(path + ".unheardOf")
			delete(value, "unheardOf")
		case []any:
			for i, element := range value {
				visit(fmt.Sprintf("%s[%d]", path, i), element, func(other any) { value[i] = other })
			}
		}
	}
	of.content = runtime.DeepCopyJSON(of.content)
	visit("spec", of.content["spec"], func(other any) { of.content["spec"] = other })
	return all
}

// settings is a WebApp in v1 with nearly every field of Pods.
func settings(t *testing.T) candidate {
	t.Helper()
	const file = root + "/controllers/podtemplate/testdata/full.yaml"
	spec := map[string]any{}
	if err := yaml.Unmarshal(read(t, file), &spec); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	object := map[string]any{"apiVersion": "app.example.com/v1", "kind": "WebApp", "metadata": map[string]any{"name": "x"}, "spec": spec}
	return candidate{name: file, content: integers(object).(map[string]any)}
}

// integers turns whole floats into integers, as the decoder of the API server does.
func integers(value any) any {
	switch value := value.(type) {
	case float64:
		if whole := int64(value); float64(whole) == value {
			return whole
		}
	case map[string]any:
		for name, member := range value {
			value[name] = integers(member)
		}
	case []any:
		for i, element := range value {
			value[i] = integers(element)
		}
	}
	return value
}
