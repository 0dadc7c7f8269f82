// Package degraded shows on an object that some of its values could not be converted between versions.
//
// Condition is pure. Controllers of both kinds call it; it reads what package conversion left in an annotation.
package degraded

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// maxValues are named in the condition; further ones are counted.
const maxValues = 5

// Condition returns the condition ConversionDegraded for an object of v1 with these annotations and this spec, a Go
// struct or JSON: which values of an older version wait unread in an annotation, because v1 cannot say them. It is nil
// if there are none, as for nearly every object. Times and generation are left to the caller.
func Condition(kind schema.GroupVersionKind, annotations map[string]string, spec any) *metav1.Condition {
	if annotations[workloadv1.AnnotationUnconvertible] == "" {
		return nil
	}
	apiVersion, name := kind.ToAPIVersionAndKind()
	hub, err := json.Marshal(map[string]any{
		"apiVersion": apiVersion,
		"kind":       name,
		"metadata":   map[string]any{"annotations": annotations},
		"spec":       spec,
	})
	if err != nil {
		return nil // what came from the API server can be encoded
	}
	unread := slices.DeleteFunc(conversion.Degraded(hub), func(value conversion.Quarantined) bool {
		return !strings.HasPrefix(value.Path, "spec") // status is the controller's own, and not given here
	})
	if len(unread) == 0 {
		return nil
	}
	return &metav1.Condition{
		Type:    workloadv1.ConditionConversionDegraded,
		Status:  metav1.ConditionTrue,
		Reason:  workloadv1.ReasonUnconvertible,
		Message: sentence(unread),
	}
}

func sentence(unread []conversion.Quarantined) string {
	var named []string
	for _, value := range unread[:min(len(unread), maxValues)] {
		named = append(named, value.Path+" "+value.Reason)
	}
	message := "Values of an older version wait unread in the annotation " + workloadv1.AnnotationUnconvertible + ": " + strings.Join(named, "; ")
	if more := len(unread) - len(named); more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return message + "."
}
