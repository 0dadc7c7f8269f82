package v1

// Condition types. Ready, Reconciling and Stalled follow kstatus, so that tools which wait for objects in general
// understand these too: while the operator still works towards the current generation, Reconciling is True; when only a
// change by the user or in the cluster can help, Stalled is True.
const (
	// ConditionReady is True when the object's current generation is completely rolled out and serving.
	ConditionReady = "Ready"

	// ConditionAvailable is True when enough Pods have been ready for spec.minReadySeconds.
	ConditionAvailable = "Available"

	// ConditionProgressing is True while a rollout makes progress or after it has finished, as for a Deployment.
	ConditionProgressing = "Progressing"

	// ConditionReconciling is True while the operator works towards the current generation. It is absent otherwise.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True when the operator cannot go on without help. It is absent otherwise.
	ConditionStalled = "Stalled"

	// ConditionReplicaFailure is True while Pods cannot be created or deleted, for example under a quota.
	ConditionReplicaFailure = "ReplicaFailure"

	// ConditionConversionDegraded is True while the object carries values that could not be converted between
	// versions and wait, unread, in the annotation AnnotationUnconvertible. It is absent otherwise.
	ConditionConversionDegraded = "ConversionDegraded"
)

// Reasons that both kinds use in their conditions.
const (
	// ReasonReady shows on Ready=True: the current generation is rolled out and every replica is available.
	ReasonReady = "Ready"

	// ReasonProgressing shows on Ready=False and Reconciling=True while a change is being rolled out.
	ReasonProgressing = "Progressing"

	// ReasonSuspended shows on Ready=True once spec.suspend has brought the object to zero Pods.
	ReasonSuspended = "Suspended"

	// ReasonNotOwned shows on Stalled=True: a child's name is taken by an object that this one does not own.
	ReasonNotOwned = "NotOwned"

	// ReasonInvalidSpec shows on Stalled=True: the cluster refused a child that the spec asks for.
	ReasonInvalidSpec = "InvalidSpec"

	// ReasonReplicaFailure shows when Pods cannot be created or deleted.
	ReasonReplicaFailure = "ReplicaFailure"

	// ReasonUnconvertible shows on ConversionDegraded=True.
	ReasonUnconvertible = "UnconvertibleValues"
)
