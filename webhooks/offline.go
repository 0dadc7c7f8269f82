package webhooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/unstructuredscheme"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/example/workload-operator/conversion"
)

// Offline gives the verdict that a write would get from an API server that has our CustomResourceDefinitions and webhooks,
// without one. It is safe for concurrent use.
//
// It takes the same steps in the same order: strict decoding, pruning and schema defaults in the version written, conversion,
// defaulting, schema and CEL of the version written, and at last Rules. It does not know what depends on a cluster: whether the
// namespace exists, quotas, other admission plugins, RBAC.
type Offline struct {
	rules    *Rules
	versions map[schema.GroupVersionKind]servedVersion
}

// servedVersion is a version that can be written.
type servedVersion struct {
	*Schema
	deprecation string // the warning of every request, if the version is deprecated
}

// NewOffline compiles the schemas and rules of all versions.
func NewOffline(crds []*apiextensionsv1.CustomResourceDefinition) (*Offline, error) {
	rules, err := NewRules(crds)
	if err != nil {
		return nil, err
	}
	offline := &Offline{rules: rules, versions: map[schema.GroupVersionKind]servedVersion{}}
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			compiled, err := NewSchema(crd, version.Name)
			if err != nil {
				return nil, err
			}
			gvk := schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
			served := servedVersion{Schema: compiled}
			if version.Deprecated && version.DeprecationWarning != nil {
				served.deprecation = *version.DeprecationWarning
			}
			offline.versions[gvk] = served
		}
	}
	return offline, nil
}

// Admission is the answer to a write.
type Admission struct {
	// Verdict is that of a request that does not ask for strict decoding (fieldValidation=Ignore): unknown fields are dropped, and of
	// fields that come twice the last one counts.
	Verdict

	// Mistakes are what strict decoding refuses, as kubectl asks for it (fieldValidation=Strict), in the words of the API server:
	// unknown field "spec.replica" and duplicate field "spec.image". With fieldValidation=Warn they are warnings.
	Mistakes []string
}

// write is one write on its way through admission.
type write struct {
	*Offline
	gvk      schema.GroupVersionKind
	served   servedVersion
	warnings []string
	mistakes []string
}

// Admit judges an object as it stands in a manifest, in the version it is written in. stored is nil to judge its creation;
// otherwise it is the stored object in any version, which the manifest would replace. Fields in the verdict are those of
// the version written.
//
// Metadata that the API server sets itself (uid, resourceVersion, timestamps, managedFields) and status are ignored, an object
// without a namespace counts as one of "default". The error is not nil only if object or stored is not an object of a kind
// and version of ours.
func (o *Offline) Admit(ctx context.Context, object, stored []byte) (Admission, error) {
	content, repeated, err := decodeStrictly(object)
	if err != nil {
		return Admission{}, err
	}
	w := write{Offline: o, gvk: schema.FromAPIVersionAndKind(textOf(content["apiVersion"]), textOf(content["kind"])), mistakes: repeated}
	if w.served, err = o.served(w.gvk); err != nil {
		return Admission{}, err
	}
	if w.served.deprecation != "" {
		w.warnings = append(w.warnings, w.served.deprecation)
	}
	metadata, err := w.complete(content)
	if err != nil {
		// The API server cannot decode such a request, which is a refusal without fields.
		malformed := field.Invalid(field.NewPath("metadata"), nil, err.Error())
		return w.answer(field.ErrorList{malformed}), nil
	}
	errs, err := w.judge(ctx, content, metadata, stored)
	return w.answer(errs), err
}

func (w *write) answer(errs field.ErrorList) Admission {
	return Admission{Verdict: Verdict{Errors: errs, Warnings: w.warnings}, Mistakes: w.mistakes}
}

func (o *Offline) served(gvk schema.GroupVersionKind) (servedVersion, error) {
	served, ok := o.versions[gvk]
	if !ok {
		return served, noSuchKind(gvk)
	}
	return served, nil
}

// decodeStrictly decodes JSON as the API server does, and says where a member repeats.
func decodeStrictly(raw []byte) (content map[string]any, repeated []string, err error) {
	object := &unstructured.Unstructured{}
	decoder := serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, unstructuredscheme.NewUnstructuredCreator(),
		unstructuredscheme.NewUnstructuredObjectTyper(), serializer.SerializerOptions{Strict: true})
	_, _, err = decoder.Decode(raw, nil, object)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, one := range strict.Errors() {
			repeated = append(repeated, one.Error())
		}
		err = nil
	}
	if err == nil && object.Object == nil {
		err = errors.New("not an object")
	}
	return object.Object, repeated, err
}

// complete prunes and defaults the object, and reduces metadata and status to what the client may say on create.
func (w *write) complete(object map[string]any) (*metav1.ObjectMeta, error) {
	metadata, _, unknown, err := objectmeta.GetObjectMetaWithOptions(object, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err != nil {
		return nil, err
	}
	if metadata == nil {
		metadata = &metav1.ObjectMeta{}
	}
	w.mistakes = append(w.mistakes, unknownFields(append(unknown, w.served.complete(object)...))...)
	own := &metav1.ObjectMeta{
		Name: metadata.Name, GenerateName: metadata.GenerateName, Namespace: metadata.Namespace,
		Labels: metadata.Labels, Annotations: metadata.Annotations, Finalizers: metadata.Finalizers, OwnerReferences: metadata.OwnerReferences,
	}
	if own.Namespace == "" {
		own.Namespace = metav1.NamespaceDefault
	}
	if own.Name == "" && own.GenerateName != "" {
		own.Name = generatedName(own.GenerateName)
	}
	delete(object, "status")
	return own, objectmeta.SetObjectMeta(object, own)
}

// generatedName is a name such as the API server would make up.
func generatedName(prefix string) string {
	const most, random = 63, "xxxxx"
	return prefix[:min(len(prefix), most-len(random))] + random
}

// judge returns why the write is refused. A webhook that refuses is asked only if nothing was wrong before.
func (w *write) judge(ctx context.Context, object map[string]any, metadata *metav1.ObjectMeta, stored []byte) (field.ErrorList, error) {
	request, old, err := w.request(object, stored)
	if err != nil {
		return nil, err
	}
	if errs := request.unreadable(); request.Old != nil && len(errs) > 0 {
		return errs, nil
	}
	if request.Object, err = Default(request); err != nil {
		return nil, err
	}
	defaulted, err := w.inVersionWritten(request.Object)
	if err != nil {
		return nil, err
	}
	errs := apivalidation.ValidateObjectMeta(metadata, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = w.served.validateAfter(ctx, errs, defaulted, old)
	if wrongShape(errs) {
		errs = append(errs, field.Invalid(nil, nil, "some validation rules were not checked because the object was invalid; "+
			"correct the existing errors to complete validation"))
	}
	if len(errs) > 0 {
		return errs, nil
	}
	verdict, err := w.rules.Validate(ctx, request)
	w.warnings = append(w.warnings, verdict.Warnings...)
	return verdict.Errors, err
}

// request is what the webhooks would be asked, and the stored object in the version written, nil on create.
func (w *write) request(object map[string]any, stored []byte) (request Request, old map[string]any, err error) {
	request = Request{Kind: w.gvk.GroupKind(), Version: w.gvk.Version}
	if request.Object, err = inHub(request.Kind, object); err != nil || stored == nil {
		return request, nil, err
	}
	content, _, err := decodeStrictly(stored)
	if err != nil {
		return request, nil, fmt.Errorf("stored object: %w", err)
	}
	storedIn := schema.FromAPIVersionAndKind(textOf(content["apiVersion"]), textOf(content["kind"]))
	if storedIn.GroupKind() != request.Kind {
		return request, nil, fmt.Errorf("stored object: is a %s, not a %s", storedIn.GroupKind(), request.Kind)
	}
	before := write{Offline: w.Offline, gvk: storedIn}
	if before.served, err = w.Offline.served(storedIn); err != nil {
		return request, nil, fmt.Errorf("stored object: %w", err)
	}
	if _, err := before.complete(content); err != nil {
		return request, nil, fmt.Errorf("stored object: %w", err)
	}
	if request.Old, err = inHub(request.Kind, content); err != nil {
		return request, nil, fmt.Errorf("stored object: %w", err)
	}
	old, err = w.inVersionWritten(request.Old)
	return request, old, err
}

// inHub converts an object to the version of the rules.
func inHub(kind schema.GroupKind, object map[string]any) ([]byte, error) {
	raw, err := encodeAny(object)
	if err != nil {
		return nil, err
	}
	result, err := conversion.Convert(raw, schema.GroupVersion{Group: kind.Group, Version: hubVersion}.String())
	return result.Object, err
}

// inVersionWritten converts an object of the rules' version back, as the API server does before it validates.
func (w *write) inVersionWritten(hub []byte) (map[string]any, error) {
	result, err := conversion.Convert(hub, w.gvk.GroupVersion().String())
	if err != nil {
		return nil, err
	}
	return w.served.Complete(result.Object)
}

func encodeAny(object map[string]any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object)
	return bytes.TrimSpace(out.Bytes()), err
}

func textOf(value any) string {
	text, _ := value.(string)
	return text
}
