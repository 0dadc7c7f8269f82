// Package charts tests the Helm chart workload-operator. It has no other code.
//
// The chart and the kustomize tree config/default are two ways to the same installation: templates/generated is written from
// that tree by `make chart`, and the tests compare what the two render, object by object.
package charts
