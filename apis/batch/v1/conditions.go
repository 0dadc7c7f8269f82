package v1

// Reasons in the conditions of a PodSet, beside those that both kinds share in apis/workload/v1. While a Pod keeps the PodSet
// from being ready, Ready=False has the reason of the worst Pod.
const (
	// ReasonPaused shows on Ready=False: spec.paused holds back an update that Pods still need.
	ReasonPaused = "Paused"

	// ReasonFailingPods shows on Ready=False and Reconciling=True: Pods fail one after the other, so the next one is
	// created after a growing delay.
	ReasonFailingPods = "FailingPods"

	// ReasonFailedCreate shows on ReplicaFailure=True: the API server refuses to create Pods, for example under a quota.
	ReasonFailedCreate = "FailedCreate"

	// ReasonFailedUpdate shows on ReplicaFailure=True: the API server refuses to update Pods.
	ReasonFailedUpdate = "FailedUpdate"

	// ReasonFailedDelete shows on ReplicaFailure=True: the API server refuses to delete Pods.
	ReasonFailedDelete = "FailedDelete"
)
