// Package v1alpha1 is the older version of the group batch.example.com: served, deprecated and frozen.
// The API server converts it to and from v1 through package conversion.
//
// It imports only k8s.io/api, k8s.io/apimachinery and apis/workload/v1, and nothing in it acts.
//
// +kubebuilder:object:generate=true
// +groupName=batch.example.com
package v1alpha1
