// Package podset plays random histories of PodSets on a real control plane, with an operator that lives in a storm: its watches
// are late and break, its requests fail before or after they did their work, and it is killed in the middle of everything.
//
// A witness that sees what really happened, in the order in which it happened, holds the whole history against a small model of what
// must be true (model_test.go). A run prints its seed and takes it back by -seed; -storm says how long it blows.
package podset
