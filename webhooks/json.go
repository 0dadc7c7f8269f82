package webhooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// members splits a JSON object into its members. ok is false for any other JSON value, for null and for absence.
func members(raw json.RawMessage) (object map[string]json.RawMessage, ok bool) {
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, false
	}
	return object, true
}

// valueAt returns the value under the names of path, or nil if there is none or it is null.
func valueAt(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		object, ok := members(raw)
		if !ok {
			return nil
		}
		raw = object[name]
	}
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil
	}
	return raw
}

// withValueAt returns raw with the value under the names of path replaced, or removed if value is nil. Objects on the way
// must be there.
func withValueAt(raw, value json.RawMessage, path ...string) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	object, ok := members(raw)
	if !ok {
		return nil, fmt.Errorf("no object holds %q", path[0])
	}
	child, err := withValueAt(object[path[0]], value, path[1:]...)
	if err != nil {
		return nil, err
	}
	if child == nil {
		delete(object, path[0])
	} else {
		object[path[0]] = child
	}
	return encode(object)
}

// encode leaves the text of strings as it is; json.Marshal would escape <, > and & in them.
func encode(object map[string]json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// operation is one step of a JSON patch (RFC 6902).
type operation struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// difference lists the steps from before to after. It goes down into objects, so that a patch names only what changed;
// lists are replaced whole.
func difference(path string, before, after json.RawMessage) []operation {
	if bytes.Equal(before, after) {
		return nil
	}
	old, isObject := members(before)
	fresh, wasObject := members(after)
	if !isObject || !wasObject {
		if sameValue(before, after) {
			return nil
		}
		return []operation{{Op: "replace", Path: path, Value: after}}
	}
	var operations []operation
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if _, ok := fresh[name]; !ok {
			operations = append(operations, operation{Op: "remove", Path: path + pointerTo(name)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if _, ok := old[name]; ok {
			operations = append(operations, difference(path+pointerTo(name), old[name], fresh[name])...)
		} else {
			operations = append(operations, operation{Op: "add", Path: path + pointerTo(name), Value: fresh[name]})
		}
	}
	return operations
}

func pointerTo(name string) string {
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// sameValue compares what two JSON texts say. Numbers are compared as written.
func sameValue(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	left, leftErr := decodeExact(a)
	right, rightErr := decodeExact(b)
	return leftErr == nil && rightErr == nil && reflect.DeepEqual(left, right)
}

func decodeExact(raw json.RawMessage) (value any, err error) {
	if len(raw) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}
