package webhooks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1 "github.com/example/workload-operator/apis/app/v1"
	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
	"github.com/example/workload-operator/conversion"
)

// hubVersion is the version that all rules speak of.
const hubVersion = "v1"

// Request is a write of one object.
type Request struct {
	// Kind is the kind of the object.
	Kind schema.GroupKind

	// Version is the API version that the client wrote: errors and warnings use its field names.
	Version string

	// Object is the object as it would be stored, in v1, as JSON.
	Object []byte

	// Old is the stored object in v1, as JSON. Nil on create.
	Old []byte
}

// inOlderVersion is true if the client cannot see every field of the object.
func (r Request) inOlderVersion() bool {
	return r.Version != hubVersion
}

// Default returns r.Object with everything in place that no schema can express. It changes nothing else, not even the
// spelling of a number, and applying it twice changes nothing more. The error is not nil only if r.Object or r.Old is not
// an object of r.Kind in v1.
//
//   - On an update through an older version, the fields that this version cannot show are those of r.Old, whatever the
//     client sent.
//   - The annotation that carries such fields in older versions does not stay on a v1 object.
//   - A readiness probe of a WebApp over HTTP without a port asks the port that the container listens on.
//
// An object created in an older version with a value that conversion cannot read is left alone. The schema of that version refuses
// it, and must see it for that: after a change of ours the API server would fill in a default in its place.
func Default(r Request) ([]byte, error) {
	err := r.check()
	if err != nil {
		return nil, err
	}
	object := r.Object
	if r.Old == nil && len(r.unreadable()) > 0 {
		return object, nil
	}
	if r.Old != nil && r.inOlderVersion() {
		object, err = conversion.Overlay(r.Object, r.Old, r.Kind.Group+"/"+r.Version)
		if err != nil {
			return nil, fmt.Errorf("taking fields that %s cannot show from the stored object: %w", r.Version, err)
		}
	}
	if object, err = withoutV1Fields(object); err != nil || r.Kind.Group != appv1.GroupVersion.Group {
		return object, err
	}
	return withReadinessPort(object)
}

// unreadable are the values that the client wrote in an older version and conversion could only set aside, as far as they were not
// there before. They are errors in the client's field names.
func (r Request) unreadable() field.ErrorList {
	if !r.inOlderVersion() || valueAt(r.Object, "metadata", "annotations", workloadv1.AnnotationUnconvertible) == nil {
		return nil
	}
	var before []conversion.Quarantined
	if r.Old != nil {
		before = conversion.Degraded(r.Old)
	}
	var errs field.ErrorList
	for _, found := range conversion.Degraded(r.Object) {
		if !slices.Contains(before, found) {
			errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: found.Path, BadValue: field.OmitValueType{}, Detail: found.Reason})
		}
	}
	return errs
}

// withoutV1Fields removes the annotation that belongs on views in older versions only. Conversion has already used it.
func withoutV1Fields(object json.RawMessage) (json.RawMessage, error) {
	annotations, ok := members(valueAt(object, "metadata", "annotations"))
	if !ok {
		return object, nil
	}
	if _, planted := annotations[workloadv1.AnnotationV1Fields]; !planted {
		return object, nil
	}
	if len(annotations) == 1 {
		return withValueAt(object, nil, "metadata", "annotations")
	}
	return withValueAt(object, nil, "metadata", "annotations", workloadv1.AnnotationV1Fields)
}

// portNumber matches a JSON number that can be a port. Anything else in a port field is for the schema to refuse.
var portNumber = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)

// withReadinessPort fills the port of a WebApp's readiness probe over HTTP. In v1alpha1 a health check is a path alone, so
// without this no such object could be stored.
func withReadinessPort(object json.RawMessage) (json.RawMessage, error) {
	spec := valueAt(object, "spec")
	httpGet := []string{"spec", "probes", "readiness", "httpGet"}
	if _, ok := members(valueAt(object, httpGet...)); !ok || valueAt(object, append(httpGet, "port")...) != nil {
		return object, nil
	}
	for _, port := range []json.RawMessage{valueAt(spec, "targetPort"), valueAt(spec, "port"), json.RawMessage("80")} {
		if portNumber.Match(port) {
			return withValueAt(object, port, append(httpGet, "port")...)
		}
	}
	return object, nil
}
