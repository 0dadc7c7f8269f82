package v1

// LabelPodSet carries, on every Pod of a PodSet, the name of the PodSet. It alone is the Pods' selector.
const LabelPodSet = "podset-name"

// LabelRevision carries, on every Pod of a PodSet, the revision of the template that it was created from.
const LabelRevision = "batch.example.com/revision"

// AnnotationDescription is where v1 keeps what v1alpha1 calls spec.description.
const AnnotationDescription = "batch.example.com/description"

// PodNameInfix stands between the name of a PodSet and the random end of a Pod's name.
const PodNameInfix = "-pod-"

// MaxPodNames is how many Pod names the status lists at most.
const MaxPodNames = 100
