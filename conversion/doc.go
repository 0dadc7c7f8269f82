// Package conversion turns a WebApp or a PodSet of one API version into another.
//
// Each kind has one table (webapp.go, podset.go): rows of hub path, spoke path and, where the value changes
// shape, a named pair of functions. The table is the converter: one engine runs it in both directions on raw
// JSON, keeps what the older version cannot show in an annotation, parks what the other side cannot say in a
// second one, and derives error paths and documentation from the same rows.
//
// The one invariant: every JSON object of our kinds converts, and converting back gives the same object.
//
// The package is pure: no clock, no client, no logger. Only the HTTP handler measures time.
package conversion
