// Command workloadctl works with WebApps and PodSets from the command line. The same binary answers as the kubectl plugin
// "kubectl workload" when it is installed as kubectl-workload.
//
// It converts manifests with the same calls as the operator's webhook, see package conversion, and validates them as the API server
// with the operator's webhooks would, see package webhooks; neither needs a cluster.
//
// On a cluster it migrates, takes release steps, looks for what is wrong and says how to mend it, compares manifests, shows objects as
// trees and follows rollouts. What these verbs find out is in packages of their own under internal, which know nothing of a terminal.
//
// Whatever it converts is complete: it reads and converts everything before the first byte goes to stdout.
package main
