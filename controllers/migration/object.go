package migration

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	"github.com/example/workload-operator/controllers/migration/ownership"
)

// races bounds how often an object is read again because somebody else wrote it between our read and our write. Losing so often
// in a row takes a client that does nothing else.
const races = 40

// writer writes single objects.
type writer struct {
	*run
	translator *ownership.Translator
	// onlyOwners leaves objects alone whose managedFields are right.
	onlyOwners bool
	// dryRun has the API server, and all of admission, judge a write without doing it.
	dryRun bool
}

// metadataPatch is a merge patch that changes nothing of an object, except managedFields if there are any. The API server
// encodes the object anew in the storage version, and writes only if that differs from the bytes it has. uid and
// resourceVersion are preconditions.
type metadataPatch struct {
	Metadata struct {
		UID             types.UID                   `json:"uid"`
		ResourceVersion string                      `json:"resourceVersion"`
		ManagedFields   []metav1.ManagedFieldsEntry `json:"managedFields,omitempty"`
	} `json:"metadata"`
}

// rewrite writes an object once, with its managedFields translated if they are in another version.
func (w *writer) rewrite(ctx context.Context, item *metav1.PartialObjectMetadata) (outcome, error) {
	if w.translator != nil && ownership.Foreign(item.ManagedFields, w.apiVersion()) {
		return w.translate(ctx, item)
	}
	if w.onlyOwners {
		return outcome{result: unchanged}, nil
	}
	after, err := w.patch(ctx, item, item.ResourceVersion, nil)
	return w.judge(ctx, item.ResourceVersion, after, err)
}

// translate does both in one write. An object that changes meanwhile is looked at again: whoever changed it has rewritten it, but
// has not translated anything.
func (w *writer) translate(ctx context.Context, item *metav1.PartialObjectMetadata) (outcome, error) {
	for try := 1; ; try++ {
		var object *unstructured.Unstructured
		err := w.gate.do(ctx, func(ctx context.Context) (err error) {
			object, err = w.objects.Resource(w.definition.resource(w.report.Target)).Namespace(item.Namespace).Get(ctx, item.Name, metav1.GetOptions{})
			return err
		})
		if err != nil {
			return w.judge(ctx, "", nil, err)
		}
		if object.GetUID() != item.UID {
			return outcome{result: moved}, nil
		}
		before := object.GetResourceVersion()
		after, err := w.patch(ctx, item, before, w.translator.Translate(object))
		switch {
		case apierrors.IsConflict(err) && try < races:
			continue
		case apierrors.IsConflict(err):
			return outcome{result: refused, reason: "its managedFields could not be translated: it is written all the time"}, nil
		}
		o, err := w.judge(ctx, before, after, err)
		o.translated = o.result == rewritten
		return o, err
	}
}

// verify writes an object that should need no write. A conflict proves nothing, so it is tried again.
func (w *writer) verify(ctx context.Context, item *metav1.PartialObjectMetadata) (outcome, error) {
	before := item.ResourceVersion
	for try := 1; ; try++ {
		after, err := w.patch(ctx, item, before, nil)
		if apierrors.IsConflict(err) && try < races {
			var live *metav1.PartialObjectMetadata
			live, err = w.get(ctx, item)
			if err == nil && live.UID == item.UID {
				before = live.ResourceVersion
				continue
			}
		}
		o, err := w.judge(ctx, before, after, err)
		if o.result == rewritten {
			o.result, o.reason = stale, "was stored in another version than "+w.report.Target+", or without a default; it was rewritten"
		}
		return o, err
	}
}

func (w *writer) get(ctx context.Context, item *metav1.PartialObjectMetadata) (live *metav1.PartialObjectMetadata, err error) {
	err = w.gate.do(ctx, func(ctx context.Context) (err error) {
		live, err = w.target().Namespace(item.Namespace).Get(ctx, item.Name, metav1.GetOptions{})
		return err
	})
	return live, err
}

// patch sends the patch and returns the metadata of the object after it.
func (w *writer) patch(ctx context.Context, item *metav1.PartialObjectMetadata, resourceVersion string,
	managedFields []metav1.ManagedFieldsEntry,
) (after *metav1.PartialObjectMetadata, err error) {
	patch := metadataPatch{}
	patch.Metadata.UID, patch.Metadata.ResourceVersion, patch.Metadata.ManagedFields = item.UID, resourceVersion, managedFields
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding the patch of %s/%s: %w", item.Namespace, item.Name, err)
	}
	options := metav1.PatchOptions{FieldManager: fieldManager}
	if w.dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	err = w.gate.do(ctx, func(ctx context.Context) (err error) {
		after, err = w.target().Namespace(item.Namespace).Patch(ctx, item.Name, types.MergePatchType, body, options)
		return err
	})
	return after, err
}

// judge says what an answer means. A version that is not served looks like an object that is gone, so that is looked into.
func (w *writer) judge(ctx context.Context, before string, after *metav1.PartialObjectMetadata, err error) (outcome, error) {
	switch {
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case err == nil && after.ResourceVersion == before:
		return outcome{result: unchanged}, nil
	case err == nil:
		return outcome{result: rewritten}, nil
	case apierrors.IsConflict(err):
		return outcome{result: moved}, nil
	case apierrors.IsNotFound(err):
		err := w.gate.do(ctx, func(ctx context.Context) error {
			_, err := w.target().List(ctx, metav1.ListOptions{Limit: 1})
			return err
		})
		return outcome{result: moved}, err
	case denied(err):
		return outcome{}, err
	}
	return outcome{result: refused, reason: oneLine(err)}, nil
}

func (w *writer) apiVersion() string {
	return w.definition.resource(w.report.Target).GroupVersion().String()
}

func (w *writer) target() metadata.Getter {
	return w.metadata.Resource(w.definition.resource(w.report.Target))
}
