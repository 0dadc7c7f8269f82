// Package v1 holds what the kinds of this operator share: the settings of their Pods, the keys of the
// annotations that conversion writes, condition types and the label that every child carries.
//
// It imports only k8s.io/api and k8s.io/apimachinery, and nothing in it acts. No kind is served from the group
// workload.example.com: the group only names keys.
//
// +kubebuilder:object:generate=true
package v1
