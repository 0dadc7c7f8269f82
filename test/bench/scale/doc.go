// Package scale measures what grows with what: it brings one cluster to more and more WebApps and Pods, and says at each size
// what the operator costs, how long it takes to start, and what reading and watching WebApps costs in each version. v1alpha1 is
// compared with v1, each size with the one before.
//
// Run it with go test -run '^$' -bench . -v -timeout 90m ./test/bench/scale -args -sizes 1000,10000 -idle 130s. The operator runs
// as a process of its own (make build), webhooks included. docs/scale.md says what the lines mean.
package scale
