// Package conversion holds the proofs of package conversion that need more than it: that conversion respects the schemas we
// ship, with random objects made from those schemas (validity_test.go), and that it holds under a real API server
// (plane_test.go and the files beside it).
//
// Nothing imports it, and it imports what it proves, never the other way round.
package conversion
