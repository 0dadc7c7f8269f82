// Package statuspatch writes a status whole, so that the zeros in it are there to be read.
//
// A patch computed from two Go structs never holds a count that was absent and is now zero, because both decode to zero; the
// columns of kubectl would stay blank. Controllers of both kinds call this package; it knows neither of them.
package statuspatch

import (
	"encoding/json"
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Between returns a merge patch that turns the status of former into that of next: every field of next, and null for
// each that only former has. It carries the resourceVersion of former, so that a status is never written over a newer one.
func Between(former, next client.Object) (client.Patch, error) {
	before, err := statusOf(former)
	if err != nil {
		return nil, err
	}
	after, err := statusOf(next)
	if err != nil {
		return nil, err
	}
	status := map[string]json.RawMessage{}
	for name := range before {
		status[name] = json.RawMessage("null")
	}
	maps.Copy(status, after)
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": former.GetResourceVersion()},
		"status":   status,
	})
	if err != nil {
		return nil, fmt.Errorf("encoding a patch of the status: %w", err)
	}
	return client.RawPatch(types.MergePatchType, patch), nil
}

func statusOf(object client.Object) (map[string]json.RawMessage, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	var fields struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("decoding the status: %w", err)
	}
	return fields.Status, nil
}
