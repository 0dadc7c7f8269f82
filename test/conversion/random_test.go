package conversion

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// random makes objects from a schema. They have the right types, bounds, patterns and keys; rules that span fields are
// mostly kept. What is left over is for the judge.
type random struct {
	*rand.Rand
	t     testing.TB
	side  side
	dense int // percent of the optional fields that are there
}

func (r *random) chance(percent int) bool { return r.IntN(100) < percent }

func pick[T any](r *random, from ...T) T { return from[r.IntN(len(from))] }

// object returns the next object: sparse, medium or dense.
func (r *random) object() []byte {
	r.dense = pick(r, 3, 8, 15, 30, 60)
	object := map[string]any{
		"apiVersion": r.side.apiVersion(),
		"kind":       r.side.gvk.Kind,
		"metadata":   r.metadata(),
		"spec":       r.value(r.side.root.fields["spec"]),
	}
	if r.chance(50) {
		object["status"] = r.value(r.side.root.fields["status"])
	}
	return encoded(r.t, object)
}

func (r *random) metadata() map[string]any {
	metadata := map[string]any{"name": pick(r, "x", "web", "a-1"), "namespace": "default"}
	if r.chance(20) {
		metadata["labels"] = map[string]any{"team": "blue"}
	}
	if r.chance(40) {
		annotations := map[string]any{}
		for range r.IntN(3) {
			annotations[pick(r, "a", "example.net/note", "kubectl.kubernetes.io/last-applied-configuration")] = r.text()
		}
		if r.chance(50) {
			annotations["batch.example.com/description"] = pick(r, r.text(), strings.Repeat("é", pick(r, 4096, 4097)))
		}
		metadata["annotations"] = annotations
	}
	return metadata
}

// value makes a value for a place. Where rules refuse it, it tries again.
func (r *random) value(n *node) any {
	const tries = 20
	var value any
	for range tries {
		if value = r.anything(n); n.rules == nil {
			break
		}
		if errs, _ := n.rules.Validate(r.t.Context(), nil, nil, value, nil, celconfig.RuntimeCELCostBudget); len(errs) == 0 {
			break
		}
	}
	return value
}

func (r *random) anything(n *node) any {
	if n.ValueValidation != nil && len(n.ValueValidation.Enum) > 0 {
		return pick(r, n.ValueValidation.Enum...).Object
	}
	switch {
	case n.XIntOrString:
		return r.intOrString(n)
	case n.Type == "object" && n.each != nil:
		return r.keyed(n)
	case n.Type == "object":
		return r.members(n)
	case n.Type == "array":
		return r.list(n)
	case n.Type == "string":
		return r.string(n)
	case n.Type == "boolean":
		return r.chance(50)
	case n.Type == "integer":
		return r.integer(n)
	}
	r.t.Fatalf("no values for type %q of %s: teach anything()", n.Type, n.path)
	return nil
}

// members makes an object with fields. An optional field may be null, which the API server takes for absent.
func (r *random) members(n *node) map[string]any {
	object := map[string]any{}
	choices := n.exactlyOne()
	choice := ""
	if len(choices) > 0 {
		choice = pick(r, choices...)
	}
	for _, name := range n.names() {
		field := n.fields[name]
		required := n.ValueValidation != nil && slices.Contains(n.ValueValidation.Required, name)
		switch {
		case name == choice || required:
			object[name] = r.value(field)
		case slices.Contains(choices, name):
		case r.chance(r.dense):
			object[name] = r.value(field)
		case r.chance(1):
			object[name] = nil
		}
	}
	return object
}

var has = regexp.MustCompile(`has\(self\.(\w+)\)`)

// exactlyOne are the fields of which a rule wants one, if there is such a rule.
func (n *node) exactlyOne() []string {
	for _, rule := range n.XValidations {
		if !strings.HasSuffix(rule.Rule, ".size() == 1") {
			continue
		}
		var fields []string
		for _, match := range has.FindAllStringSubmatch(rule.Rule, -1) {
			fields = append(fields, match[1])
		}
		return fields
	}
	return nil
}

// list makes a list of few items, without repeated keys where the schema forbids them.
func (r *random) list(n *node) []any {
	items, seen := []any{}, map[string]bool{}
	for range pick(r, 0, 1, 1, 2, 3) {
		item := r.value(n.each)
		if key := n.key(item); key != "" {
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		items = append(items, item)
	}
	return items
}

// key tells items apart in a list that is a set or a map, with defaults in place. Other lists may repeat themselves.
func (n *node) key(item any) string {
	if n.XListType == nil || *n.XListType == "atomic" {
		return ""
	}
	key := []any{item}
	if object, ok := item.(map[string]any); ok {
		key = nil
		for _, name := range n.XListMapKeys {
			value := object[name]
			if value == nil {
				value = n.each.fields[name].Default.Object
			}
			key = append(key, value)
		}
	}
	text, err := json.Marshal(key)
	if err != nil {
		return ""
	}
	return string(text)
}

func (r *random) keyed(n *node) map[string]any {
	object := map[string]any{}
	for range r.IntN(4) {
		var key string
		switch n.name {
		case "limits", "requests":
			key = pick(r, "cpu", "memory", "ephemeral-storage", "example.net/gpu")
		case "env":
			key = pick(r, "A", "B", "Z", "a.b", "PATH", "ä", "", "with space")
		default:
			key = pick(r, "team", "example.net/x", "kubernetes.io/arch", "é", "")
		}
		object[key] = r.value(n.each)
	}
	return object
}

func (r *random) integer(n *node) int64 {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if n.ValueValidation != nil {
		if n.ValueValidation.Format == "int32" {
			low, high = math.MinInt32, math.MaxInt32
		}
		if n.ValueValidation.Minimum != nil {
			low = int64(*n.ValueValidation.Minimum)
		}
		if n.ValueValidation.Maximum != nil {
			high = int64(*n.ValueValidation.Maximum)
		}
	}
	if r.chance(15) {
		return pick(r, low, high)
	}
	return min(max(pick[int64](r, 0, 1, 2, 7, 30, 80, 600), low), high)
}

func (r *random) intOrString(n *node) any {
	if n.ValueValidation != nil && n.ValueValidation.Pattern != "" {
		return pick[any](r, "1", "1000m", "250m", "64Mi", "1Gi", "1e3", "0.5", "0", ".5", "1.", "+1", "1E2", int64(1), int64(2), int64(0))
	}
	return pick[any](r, "25%", "0%", "100%", "1", "http", "", int64(0), int64(1), int64(3), int64(80))
}
