// Command plane runs the embedded Kubernetes control plane of test/controlplane from the command line.
//
// It exits with 2 for a wrong command line and with 1 for everything else that fails, each time with one line that
// says what to do.
package main
