// Package podset measures the PodSet controller next to ReplicaSet: in one run, on one control plane, with the same limits for
// both clients and the same Pods. The operator runs as it is shipped, webhooks included.
//
// It has benchmarks only. What the numbers are compared with is the controller of ReplicaSets in kube-controller-manager.
package podset
