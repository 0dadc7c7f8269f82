// Command workloadctl works with WebApps and PodSets from the command line. The same binary answers as the kubectl plugin
// "kubectl workload" when it is installed as kubectl-workload.
//
// It converts manifests with the same calls as the operator's webhook, see package conversion, and validates them as the API server
// with the operator's webhooks would, see package webhooks; neither needs a cluster.
// Whatever it writes is complete: it reads and converts everything before the first byte goes to stdout.
package main
