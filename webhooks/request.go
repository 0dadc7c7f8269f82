package webhooks

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
)

// requestOf reads what is judged from an admission request. The API server sends objects in v1 whatever the client wrote,
// because the rules of our webhook configurations name v1 and match equivalent requests; requestKind is what it wrote.
func requestOf(request *admissionv1.AdmissionRequest) (Request, error) {
	written := request.Kind
	if request.RequestKind != nil {
		written = *request.RequestKind
	}
	r := Request{
		Kind:    schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind},
		Version: written.Version,
		Object:  request.Object.Raw,
	}
	if _, ours := kinds[r.Kind]; !ours || request.Kind.Version != hubVersion {
		return Request{}, fmt.Errorf("%s %s is not reviewed here", r.Kind, request.Kind.Version)
	}
	if request.Operation == admissionv1.Update {
		// Not nil, so that an update without its old object is not taken for a create.
		r.Old = append([]byte{}, request.OldObject.Raw...)
	}
	return r, nil
}

// check makes sure that the objects are of the kind, in v1.
func (r Request) check() error {
	if !r.isHub(r.Object) {
		return fmt.Errorf("the request holds no %s in %s", r.Kind, hubVersion)
	}
	if r.Old != nil && !r.isHub(r.Old) {
		return fmt.Errorf("the request holds no old %s in %s", r.Kind, hubVersion)
	}
	return nil
}

func (r Request) isHub(object []byte) bool {
	header := metav1.TypeMeta{}
	if err := json.Unmarshal(object, &header); err != nil {
		return false
	}
	return header.APIVersion == r.Kind.Group+"/"+hubVersion && header.Kind == r.Kind.Kind
}

// objectName returns the name of an object, or the prefix from which the API server will generate one.
func objectName(object []byte) string {
	for _, name := range []string{"name", "generateName"} {
		var text string
		if err := json.Unmarshal(valueAt(object, "metadata", name), &text); err == nil && text != "" {
			return text
		}
	}
	return ""
}
