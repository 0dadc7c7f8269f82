// Package measure reads what the benchmarks report of a process: its processor time and memory, as Linux keeps them, and the
// metrics that it serves.
//
// It imports nothing of this module. What cannot be read is an error, never a zero: a benchmark must not report it as free.
package measure
