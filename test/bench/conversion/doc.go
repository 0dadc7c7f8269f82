// Package conversion compares the conversion handler with controller-runtime's: in its answers, wherever conversion between Go
// structs loses nothing, and in what it costs.
//
// Run it with go test ./test/bench/conversion -run '^$' -bench . Ratios are to the stock handler and to the floor of reading the
// bytes once, by turns in the same run.
package conversion
