package v1

// Reasons of the conditions of a WebApp, beside the shared ones in apis/workload/v1 and the reasons of Pods and of the
// Deployment, which are passed on as they are.
const (
	// ReasonApplyFailed shows on Ready=False while a child cannot be written. It is tried again with growing delays.
	ReasonApplyFailed = "ApplyFailed"

	// ReasonNameTaken shows on Ready=False while an object that has the name of a child is still being deleted.
	ReasonNameTaken = "NameTaken"

	// ReasonPaused shows on Ready=False while spec.paused holds a change back.
	ReasonPaused = "Paused"

	// ReasonProgressDeadlineExceeded shows on Stalled=True when a rollout made no progress for
	// spec.progressDeadlineSeconds.
	ReasonProgressDeadlineExceeded = "ProgressDeadlineExceeded"

	// ReasonUnavailable shows on Ready=False when Pods are missing after a finished rollout and none says why, and on
	// Stalled=True when they were missing for spec.progressDeadlineSeconds.
	ReasonUnavailable = "Unavailable"

	// ReasonDeploymentPending shows while the Deployment does not exist yet or its controller has not seen it.
	ReasonDeploymentPending = "DeploymentPending"
)
