package migration

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// trim leaves the storage version alone in status.storedVersions. It reports false, and does nothing, if the spec of the definition
// is not the one that was verified. A conflict is no reason to give up: the definition is read again.
func (r *run) trim(ctx context.Context) (same bool, err error) {
	verified := r.definition
	for {
		var d definition
		err := r.gate.do(ctx, func(ctx context.Context) (err error) {
			d, err = r.read(ctx, r.report.CRD)
			return err
		})
		if err != nil {
			return false, err
		}
		if d.UID != verified.UID || d.Generation != verified.Generation {
			return false, nil
		}
		r.adopt(d)
		if d.trimmed() {
			return true, nil
		}
		err = r.writeStoredVersions(ctx, d)
		switch {
		case err == nil:
			r.report.StoredVersions, r.report.Trimmed = []string{d.target()}, true
			return true, nil
		case !apierrors.IsConflict(err):
			return false, fmt.Errorf("trimming status.storedVersions of CustomResourceDefinition %s: %w", d.Name, err)
		}
	}
}

// writeStoredVersions is conditional on the definition being as it was read.
func (r *run) writeStoredVersions(ctx context.Context, d definition) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": d.UID, "resourceVersion": d.ResourceVersion},
		"status":   map[string]any{"storedVersions": []string{d.target()}},
	})
	if err != nil {
		return err
	}
	return r.gate.do(ctx, func(ctx context.Context) error {
		_, err := r.definitions.Patch(ctx, d.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager}, "status")
		return err
	})
}
