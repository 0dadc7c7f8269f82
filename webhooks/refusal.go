package webhooks

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// inWritersNames puts errors into the field names of the version that the client wrote. What is wrong with a field that
// the client could not have written came in through an annotation: such an error names the annotation, and in its text the
// field.
func (r *Rules) inWritersNames(ctx context.Context, kind kind, request Request, errs field.ErrorList) (field.ErrorList, error) {
	if !request.inOlderVersion() || len(errs) == 0 {
		return errs, nil
	}
	parked, err := r.parkedErrors(ctx, kind, request, errs)
	if err != nil {
		return nil, err
	}
	renamed := make(field.ErrorList, 0, len(errs))
	for _, err := range errs {
		path := conversion.SpokePath(request.Kind, request.Version, err.Field)
		if parked[err] {
			path = annotationPath(workloadv1.AnnotationUnconvertible)
		}
		renamed = append(renamed, renamedTo(path, err, request))
	}
	return renamed, nil
}

func renamedTo(path string, err *field.Error, request Request) *field.Error {
	renamed := *err
	renamed.Field = path
	if inAnnotation(path) && path != err.Field {
		renamed.Detail = strings.TrimSuffix(fmt.Sprintf("%s in %s/%s: %s", err.Field, request.Kind.Group, hubVersion, err.Detail), ": ")
	}
	return &renamed
}

// parkedErrors are the errors that would not be there without the annotation with unconvertible values. Conversion uses
// these values where they go with what the client sees, so a hand-made annotation can bring in a wrong one.
func (r *Rules) parkedErrors(ctx context.Context, kind kind, request Request, errs field.ErrorList) (map[*field.Error]bool, error) {
	without, err := withoutParked(request)
	if err != nil || without == nil {
		return nil, err
	}
	request.Object = without
	rest, err := r.judge(ctx, kind, request)
	if err != nil {
		return nil, err
	}
	parked := map[*field.Error]bool{}
	for _, err := range worse(errs, rest) {
		parked[err] = true
	}
	return parked, nil
}

// withoutParked returns the object as it would be without unconvertible values, or nil if it has none.
func withoutParked(request Request) ([]byte, error) {
	view, err := conversion.Convert(request.Object, request.Kind.Group+"/"+request.Version)
	if err != nil || valueAt(view.Object, "metadata", "annotations", workloadv1.AnnotationUnconvertible) == nil {
		return nil, err
	}
	bare, err := withValueAt(view.Object, nil, "metadata", "annotations", workloadv1.AnnotationUnconvertible)
	if err != nil {
		return nil, err
	}
	hub, err := conversion.Convert(bare, request.Kind.Group+"/"+hubVersion)
	if err != nil {
		return nil, err
	}
	return withReadinessPort(hub.Object)
}

func annotationPath(key string) string {
	return field.NewPath("metadata", "annotations").Key(key).String()
}

func inAnnotation(path string) bool {
	return strings.HasPrefix(path, "metadata.annotations[")
}

// refusal is the status for errs, with a cause for each, as for a built-in kind. It names the kind, which is the same in
// all versions.
func refusal(r Request, errs field.ErrorList) *metav1.Status {
	status := apierrors.NewInvalid(r.Kind, objectName(r.Object), errs).Status()
	return &status
}
