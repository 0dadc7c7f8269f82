// Package monitoring reads docs/metrics.md for the tests that hold it to what the manager shows. Its own tests hold the rules, the
// dashboard and the runbooks to that page. Only tests use it.
//
// The one invariant: a rule or a panel names no metric and no label that the operator does not have.
package monitoring
