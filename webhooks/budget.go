package webhooks

import (
	"encoding/json"
	"fmt"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/workload-operator/conversion"
)

// olderVersions are the versions that keep the fields they cannot show in annotations.
var olderVersions = []string{"v1alpha1"}

// validateBudget refuses an object that does not fit into an older version: its annotations and the values which that
// version keeps in annotations may take 256 KiB together, the limit of the API server for every object. Beyond it,
// conversion would have to lose something. An update of an object that did not fit before may always take less.
func validateBudget(r Request) (field.ErrorList, error) {
	var errs field.ErrorList
	for _, version := range olderVersions {
		apiVersion := r.Kind.Group + "/" + version
		size, err := annotationsIn(apiVersion, r.Object)
		if err != nil {
			return nil, err
		}
		if size.fits {
			continue
		}
		if r.Old != nil {
			old, err := annotationsIn(apiVersion, r.Old)
			if err != nil {
				return nil, err
			}
			if !old.fits && size.own+size.kept <= old.own+old.kept {
				continue
			}
		}
		errs = append(errs, &field.Error{
			Type:  field.ErrorTypeTooLong,
			Field: field.NewPath("metadata", "annotations").String(),
			Detail: fmt.Sprintf("the annotations take %d bytes, and in %s %d more for fields that only %s has: together at most %d",
				size.own, version, size.kept, hubVersion, apivalidation.TotalAnnotationSizeLimitB),
		})
	}
	return errs, nil
}

// annotationsSize is what annotations take in an older version, in bytes.
type annotationsSize struct {
	fits bool
	own  int // annotations of the object
	kept int // annotations that conversion would add; 0 if the object fits
}

func annotationsIn(apiVersion string, object []byte) (annotationsSize, error) {
	size := annotationsSize{own: annotationBytes(object)}
	// Kept values are never larger than the object, so most objects fit for sure. The factor covers quotes.
	if size.own+2*(len(valueAt(object, "spec"))+len(valueAt(object, "status"))) < apivalidation.TotalAnnotationSizeLimitB {
		size.fits = true
		return size, nil
	}
	view, err := conversion.Convert(object, apiVersion)
	if err != nil || len(view.Lost) == 0 {
		size.fits = true
		return size, err
	}
	size.kept, err = conversion.KeptSize(object, apiVersion)
	return size, err
}

// annotationBytes counts like the API server: keys and values.
func annotationBytes(object []byte) int {
	annotations, _ := members(valueAt(object, "metadata", "annotations"))
	total := 0
	for key, value := range annotations {
		var text string
		if err := json.Unmarshal(value, &text); err == nil {
			total += len(key) + len(text)
		}
	}
	return total
}
