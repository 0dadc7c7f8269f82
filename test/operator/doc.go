// Package operator installs the operator from config/ and runs its manager as a process of this machine, under the
// identity and the permissions that the manifests give it. The tour of cmd/plane and the plane-backed suites use it.
//
// What is shipped is what is installed, with one exception that a control plane without a kubelet demands: no Pod can run
// the manager, so its Deployment is left out, and the webhook Service becomes a name for this machine.
package operator
