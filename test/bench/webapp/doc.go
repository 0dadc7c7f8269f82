// Package webapp measures what a WebApp costs: the time until it serves, against a plain client that creates the same
// Deployment and Service itself, and the processor time and memory of the operator.
//
// The operator runs as a process of its own, with conversion and admission as shipped. The package has benchmarks only.
package webapp
