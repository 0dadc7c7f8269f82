package v1

// Annotations that conversion writes. Their values are described in docs/conversion.md.
const (
	// AnnotationV1Fields carries, on a v1alpha1 object, the spec fields that only v1 has. It never appears on a v1 object.
	AnnotationV1Fields = "workload.example.com/v1-fields"

	// AnnotationUnconvertible carries, on a converted object, values that the other version cannot say,
	// so that converting back restores them exactly.
	AnnotationUnconvertible = "workload.example.com/unconvertible"
)

// Labels of children, after https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/.
const (
	// LabelManagedBy is on every child, with ManagedBy as its value. The operator's caches hold only objects with it.
	LabelManagedBy = "app.kubernetes.io/managed-by"

	// LabelName names the application a child belongs to: the name of its owner.
	LabelName = "app.kubernetes.io/name"

	// LabelInstance tells one owner's children from another's: the name of the owner.
	LabelInstance = "app.kubernetes.io/instance"

	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "workload-operator"

	// ContainerName is the name of the one container of every Pod the operator creates.
	ContainerName = "app"
)

// FieldManager is the server-side apply field manager under which the reconcilers write.
const FieldManager = "workload-operator"
