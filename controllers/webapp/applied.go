package webapp

import (
	"encoding/json"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	workloadv1 "github.com/example/workload-operator/apis/workload/v1"
)

// converter knows the list keys and atomic fields of the built-in types.
var converter = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// unownable are the fields that the API server keeps out of every manager's set.
var unownable = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
)

// applied says whether applying want to live would change nothing: the operator owns exactly the fields of want, and
// they have its values.
//
// The values alone would not do. A field whose desired value is the zero value, such as paused: false, is absent from the
// live object and, once somebody else has set it, absent from what the operator owns too. Only the set of owned fields
// tells the two apart.
func applied[O any, P interface {
	*O
	client.Object
}](want runtime.ApplyConfiguration, live P) (bool, error) {
	desired, err := asUnstructured(want)
	if err != nil {
		return false, err
	}
	typed, err := converter().ObjectToTyped(desired)
	if err != nil {
		return false, fmt.Errorf("typing the desired state: %w", err)
	}
	fields, err := typed.ToFieldSet()
	if err != nil {
		return false, fmt.Errorf("listing the desired fields: %w", err)
	}
	owned, err := ownedFields(live)
	if err != nil || !owned.Equals(fields.Difference(unownable)) {
		return false, err
	}
	current, err := converter().ObjectToTyped(live)
	if err != nil {
		return false, fmt.Errorf("typing the live object: %w", err)
	}
	return equalAs[O](desired.Object, current.ExtractItems(owned.Leaves()).AsValue().Unstructured())
}

// ownedFields returns the fields that the operator owns by server-side apply.
func ownedFields(live client.Object) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != workloadv1.FieldManager || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, fmt.Errorf("reading managedFields: %w", err)
		}
	}
	return set, nil
}

// equalAs compares two JSON values as objects of type O, so that two spellings of a quantity are the same, apart from
// what names the object.
func equalAs[O any](want, have any) (bool, error) {
	var a, b O
	if err := transcode(want, &a); err != nil {
		return false, err
	}
	if err := transcode(have, &b); err != nil {
		return false, err
	}
	for _, o := range []any{&a, &b} {
		normalise(o)
	}
	return equality.Semantic.DeepEqual(a, b), nil
}

// normalise drops what names an object, and sets the defaults that the API server sets inside of fields that are owned
// as a whole.
func normalise(object any) {
	if o, ok := object.(client.Object); ok {
		o.SetName("")
		o.SetNamespace("")
	}
	if o, ok := object.(runtime.Object); ok {
		o.GetObjectKind().SetGroupVersionKind(metav1.SchemeGroupVersion.WithKind(""))
	}
	d, ok := object.(*appsv1.Deployment)
	if !ok {
		return
	}
	for i := range d.Spec.Template.Spec.Containers {
		for _, e := range d.Spec.Template.Spec.Containers[i].Env {
			if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil && e.ValueFrom.FieldRef.APIVersion == "" {
				e.ValueFrom.FieldRef.APIVersion = "v1"
			}
		}
	}
}

func asUnstructured(config runtime.ApplyConfiguration) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	// Unlike encoding/json, this keeps whole numbers whole, as the list keys of ports need.
	return u, utiljson.Unmarshal(raw, &u.Object)
}

// transcode copies a value into another type that has the same JSON form.
func transcode(from, to any) error {
	raw, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

// ownsReplicas says whether the operator owns the number of replicas of a Deployment.
func ownsReplicas(d *appsv1.Deployment) (bool, error) {
	owned, err := ownedFields(d)
	return err == nil && owned.Has(fieldpath.MakePathOrDie("spec", "replicas")), err
}
