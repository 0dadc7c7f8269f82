// Package controlplane runs a real Kubernetes control plane on this machine, for development and tests: etcd,
// kube-apiserver, kube-controller-manager and kube-scheduler, with kwok playing the nodes and the kubelets.
//
// [Start] builds what is missing from the Go modules pinned in tools/controlplane, starts the parts on free
// loopback ports and returns a ready [Plane]; cmd/plane is its command line. Test packages use [Main] and
// [Attach] to share one. It imports nothing of the operator.
//
// The one invariant: nothing outlives its owner. Every part dies with the process that started it, also when that
// process is killed, and the data of a dead plane is removed by the next one that starts.
//
// Pods behave as their annotations ask, see the Annotation constants. As in any cluster, the garbage collector
// notices a new custom resource up to 30 seconds after its definition was created.
package controlplane
