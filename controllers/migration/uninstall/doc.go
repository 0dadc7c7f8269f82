// Package uninstall makes a cluster independent of the operator, so that it can be removed: every object is stored as v1, the
// definitions have v1 alone and convert nothing, and the webhook configurations are gone. Definitions and objects stay.
//
// workloadctl uninstall and the hook of the Helm chart, manager uninstall, take the steps that it returns. It uses config for
// the definitions; whoever takes the steps brings the engine that migrates.
//
// The one invariant: every step may be taken again, and those that are returned are the ones that are left, wherever an earlier
// run was stopped.
package uninstall
