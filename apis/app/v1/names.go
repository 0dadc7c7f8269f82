package v1

// LabelWebApp carries, on every child and Pod of a WebApp, the name of the WebApp. It alone is the Pods' selector.
const LabelWebApp = "app.example.com/webapp"

// Names of the children of a WebApp are its name and one of these suffixes.
const (
	DeploymentSuffix              = "-deploy"
	ServiceSuffix                 = "-svc"
	HorizontalPodAutoscalerSuffix = "-hpa"
	PodDisruptionBudgetSuffix     = "-pdb"
	IngressSuffix                 = "-ing"
)
