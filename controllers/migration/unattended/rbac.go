package unattended

// A rewrite is a patch of the object itself, with which ownership is translated too. Names cannot be listed for them. Definitions
// are watched by name, as package certs does.
//
// +kubebuilder:rbac:groups=app.example.com,resources=webapps,verbs=get;list;patch
// +kubebuilder:rbac:groups=batch.example.com,resources=podsets,verbs=get;list;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=webapps.app.example.com;podsets.batch.example.com,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=webapps.app.example.com;podsets.batch.example.com,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
