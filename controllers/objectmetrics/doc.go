// Package objectmetrics has the metrics that the reconcilers of both kinds share: how many objects are in which state, which
// writes their children got, and how often a child was brought back. It uses no other package of the operator.
//
// The one invariant: no label has the name of an object, so the number of series does not grow with the number of objects.
package objectmetrics
