// Package v1 is the hub and storage version of the group batch.example.com. Reconcilers and webhooks see only this version.
//
// It imports only k8s.io/api, k8s.io/apimachinery and apis/workload/v1, and nothing in it acts.
//
// +kubebuilder:object:generate=true
// +groupName=batch.example.com
package v1
