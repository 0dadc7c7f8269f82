package certs

// The Secret is reached through a Role of the operator's namespace (config/rbac/webhook_certs_role.yaml). Watches name their
// object in a field selector, metadata.name, which is what lets a role with resourceNames grant list and watch. The names of
// the webhook configurations are as in config/webhook: kustomize adds its prefix.
//
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=webapps.app.example.com;podsets.batch.example.com,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=validating-webhook-configuration,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=mutating-webhook-configuration,verbs=get;list;watch;patch
