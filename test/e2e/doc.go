// Package e2e holds the suite that uses the operator as its users do: both kinds, both versions, on a real control plane,
// with the manager running under the identity and permissions of the shipped manifests.
package e2e
