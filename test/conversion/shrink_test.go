package conversion

import (
	"maps"
	"slices"
	"testing"
)

// shrink returns a smaller object of which wrong still holds: no member or item can be left out of it. apiVersion
// and kind stay.
func shrink(t testing.TB, raw []byte, wrong func([]byte) bool) []byte {
	t.Helper()
	for {
		smaller := false
		root := decoded(t, raw)
		for _, cut := range cuts(root) {
			undo := cut()
			if undo == nil {
				continue
			}
			if candidate := encoded(t, root); wrong(candidate) {
				raw, smaller = candidate, true
				continue
			}
			undo()
		}
		if !smaller {
			return raw
		}
	}
}

// cuts are the ways to leave something out of a value. Each returns the way back, or nil if it is gone already.
func cuts(value any) []func() func() {
	var all []func() func()
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if name == "apiVersion" || name == "kind" {
				continue
			}
			all = append(all, func() func() { return cutMember(value, name) })
			if list, ok := value[name].([]any); ok {
				for i := range list {
					all = append(all, func() func() { return cutItem(value, name, len(list)-1-i) })
				}
			}
			all = append(all, cuts(value[name])...)
		}
	case []any:
		for _, item := range value {
			all = append(all, cuts(item)...)
		}
	}
	return all
}

func cutMember(object map[string]any, name string) func() {
	was, there := object[name]
	if !there {
		return nil
	}
	delete(object, name)
	return func() { object[name] = was }
}

func cutItem(object map[string]any, name string, i int) func() {
	was, ok := object[name].([]any)
	if !ok || i >= len(was) {
		return nil
	}
	object[name] = slices.Delete(slices.Clone(was), i, i+1)
	return func() { object[name] = was }
}
