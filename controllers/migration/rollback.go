package migration

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// store makes a version the storage version, on condition that the definition is as it was read.
func (e *Engine) store(ctx context.Context, crd, version string) error {
	for {
		d, err := e.read(ctx, crd)
		if err != nil {
			return err
		}
		if err := d.mayStore(version); err != nil {
			return err
		}
		patch, err := json.Marshal(d.storing(version))
		if err != nil {
			return fmt.Errorf("encoding the patch of CustomResourceDefinition %s: %w", crd, err)
		}
		_, err = e.definitions.Patch(ctx, crd, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: specManager})
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err):
			return fmt.Errorf("making %s the storage version of CustomResourceDefinition %s: %w", version, crd, err)
		}
	}
}

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// storing is the JSON patch that makes a version the storage version. Setting resourceVersion makes it conditional.
func (d definition) storing(version string) []operation {
	patch := []operation{{"replace", "/metadata/resourceVersion", d.ResourceVersion}}
	for i, v := range d.Spec.Versions {
		if wanted := v.Name == version; v.Storage != wanted {
			patch = append(patch, operation{"replace", fmt.Sprintf("/spec/versions/%d/storage", i), wanted})
		}
	}
	return patch
}
