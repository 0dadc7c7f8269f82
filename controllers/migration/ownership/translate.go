package ownership

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/example/workload-operator/conversion"
)

// Foreign says whether an entry names another version than apiVersion.
func Foreign(entries []metav1.ManagedFieldsEntry, apiVersion string) bool {
	return slices.ContainsFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.APIVersion != apiVersion })
}

// Translator translates managedFields of a kind into one version. It is safe for concurrent use.
type Translator struct {
	target string // apiVersion
	types  map[string]managedfields.TypeConverter
	// together lists, by apiVersion, paths that make one value in the target version.
	together map[string][][]string
}

// NewTranslator reads the schemas of a definition.
func NewTranslator(crd *apiextensionsv1.CustomResourceDefinition, target string) (*Translator, error) {
	t := &Translator{
		target:   schema.GroupVersion{Group: crd.Spec.Group, Version: target}.String(),
		types:    map[string]managedfields.TypeConverter{},
		together: map[string][][]string{},
	}
	kind := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		converter, err := typeConverter(crd, version)
		if err != nil {
			return nil, err
		}
		apiVersion := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}.String()
		t.types[apiVersion] = converter
		for _, field := range conversion.Fields(kind, version.Name) {
			if paths := strings.Fields(field.Spoke); len(paths) > 1 {
				t.together[apiVersion] = append(t.together[apiVersion], paths)
			}
		}
	}
	return t, nil
}

// Translate returns the managedFields of an object, which is in the target version, with every entry in that version. Entries that
// become one are joined. The result is never empty: without any entry it is the one that makes the API server begin anew. What cannot be translated is lost: an entry of a version that the definition does not have any
// more, or fields that do not follow the schema.
func (t *Translator) Translate(object *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	entries := object.GetManagedFields()
	body := object.DeepCopy()
	body.SetManagedFields(nil)
	present, err := t.paths(body)
	if err != nil {
		// The object does not follow its own schema, so nobody can say which paths it has.
		present = nil
	}
	var translated []metav1.ManagedFieldsEntry
	for _, entry := range entries {
		if entry.APIVersion != t.target {
			fields := t.entry(body, entry)
			if present != nil {
				fields = fields.Intersection(present)
			}
			if fields.Empty() {
				continue
			}
			entry = withFields(entry, t.target, fields)
		}
		translated = join(translated, entry)
	}
	if len(translated) == 0 {
		return []metav1.ManagedFieldsEntry{{}}
	}
	return sorted(translated)
}

// entry is the set of an entry in the target version.
func (t *Translator) entry(body *unstructured.Unstructured, entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	old := setOf(entry)
	translated, err := t.translate(body, entry.APIVersion, old)
	if err != nil {
		// Paths that mean the same in every version; what the object lacks of them goes afterwards.
		return common(old)
	}
	return translated
}

// translate converts what is owned of the object.
func (t *Translator) translate(body *unstructured.Unstructured, apiVersion string, owned *fieldpath.Set) (*fieldpath.Set, error) {
	types := t.types[apiVersion]
	if types == nil {
		return nil, fmt.Errorf("no schema for %s", apiVersion)
	}
	former, err := convert(body, apiVersion)
	if err != nil {
		return nil, err
	}
	value, err := types.ObjectToTyped(former, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	part, err := types.TypedToObject(value.ExtractItems(owned.Leaves(), typed.WithAppendKeyFields()))
	if err != nil {
		return nil, err
	}
	extract := part.(*unstructured.Unstructured)
	if extract.Object == nil {
		return fieldpath.NewSet(), nil
	}
	t.complete(extract, former)
	extract.SetGroupVersionKind(former.GroupVersionKind())
	extract.SetName(former.GetName()) // a partial object needs metadata to be converted
	if extract.Object["spec"] == nil {
		extract.Object["spec"] = map[string]any{} // for what an annotation holds of it
	}
	now, err := convert(extract, t.target)
	if err != nil {
		return nil, err
	}
	return t.paths(now)
}

// complete adds to a part of an object what makes one value together with what it has.
func (t *Translator) complete(part, whole *unstructured.Unstructured) {
	for _, paths := range t.together[whole.GetAPIVersion()] {
		if !slices.ContainsFunc(paths, func(path string) bool { return has(part, path) }) {
			continue
		}
		for _, path := range paths {
			names := strings.Split(path, ".")
			if value, found, err := unstructured.NestedFieldCopy(whole.Object, names...); found && err == nil {
				// It fails only where the part has something that is no struct; then the value is not one that could be put together.
				_ = unstructured.SetNestedField(part.Object, value, names...)
			}
		}
	}
}

func has(object *unstructured.Unstructured, path string) bool {
	_, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
	return found && err == nil
}

// paths are the paths of an object in the target version that can be owned.
func (t *Translator) paths(object *unstructured.Unstructured) (*fieldpath.Set, error) {
	value, err := t.types[t.target].ObjectToTyped(object, typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set, err := value.ToFieldSet()
	if err != nil {
		return nil, err
	}
	return set.Difference(never), nil
}

// convert leaves metadata as it is, but for labels and annotations.
func convert(object *unstructured.Unstructured, apiVersion string) (*unstructured.Unstructured, error) {
	text, err := object.MarshalJSON()
	if err != nil {
		return nil, err
	}
	result, err := conversion.Convert(text, apiVersion)
	if err != nil {
		return nil, err
	}
	converted := &unstructured.Unstructured{}
	return converted, converted.UnmarshalJSON(result.Object)
}

// never are the paths that the API server records for nobody.
var never = fieldpath.NewSet(
	fieldpath.MakePathOrDie("apiVersion"),
	fieldpath.MakePathOrDie("kind"),
	fieldpath.MakePathOrDie("metadata"),
	fieldpath.MakePathOrDie("metadata", "name"),
	fieldpath.MakePathOrDie("metadata", "namespace"),
	fieldpath.MakePathOrDie("metadata", "creationTimestamp"),
	fieldpath.MakePathOrDie("metadata", "deletionTimestamp"),
	fieldpath.MakePathOrDie("metadata", "deletionGracePeriodSeconds"),
	fieldpath.MakePathOrDie("metadata", "selfLink"),
	fieldpath.MakePathOrDie("metadata", "uid"),
	fieldpath.MakePathOrDie("metadata", "generation"),
	fieldpath.MakePathOrDie("metadata", "managedFields"),
	fieldpath.MakePathOrDie("metadata", "resourceVersion"),
)

// common are the paths of metadata.
func common(set *fieldpath.Set) *fieldpath.Set {
	shared := fieldpath.NewSet()
	for path := range set.All() {
		if len(path) > 1 && path[0].FieldName != nil && *path[0].FieldName == "metadata" {
			shared.Insert(path.Copy())
		}
	}
	return shared
}

func setOf(entry metav1.ManagedFieldsEntry) *fieldpath.Set {
	set := fieldpath.NewSet()
	if entry.FieldsV1 == nil || set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
		return fieldpath.NewSet() // the API server reads it so, too
	}
	return set
}

func withFields(entry metav1.ManagedFieldsEntry, apiVersion string, fields *fieldpath.Set) metav1.ManagedFieldsEntry {
	text, err := fields.ToJSON()
	if err != nil {
		text = []byte("{}")
	}
	entry.APIVersion, entry.FieldsV1 = apiVersion, &metav1.FieldsV1{}
	entry.FieldsV1.SetRawBytes(text)
	return entry
}

// join adds an entry, or its fields to the entry of the same manager, operation and subresource.
func join(entries []metav1.ManagedFieldsEntry, entry metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i, e := range entries {
		if e.Manager != entry.Manager || e.Operation != entry.Operation || e.Subresource != entry.Subresource || e.APIVersion != entry.APIVersion {
			continue
		}
		entries[i] = withFields(e, e.APIVersion, setOf(e).Union(setOf(entry)))
		if entry.Time != nil && (e.Time == nil || e.Time.Before(entry.Time)) {
			entries[i].Time = entry.Time
		}
		return entries
	}
	return append(entries, entry)
}

// sorted is the order of the API server.
func sorted(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	seconds := func(e metav1.ManagedFieldsEntry) int64 {
		if e.Time == nil {
			return 0
		}
		return e.Time.Unix()
	}
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(
			cmp.Compare(a.Operation, b.Operation), cmp.Compare(seconds(a), seconds(b)), cmp.Compare(a.Manager, b.Manager),
			cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Subresource, b.Subresource),
		)
	})
	return entries
}
