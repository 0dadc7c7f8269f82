// Package podhealth says in one sentence what keeps a set of Pods from being ready.
//
// Worst is pure and its answer is stable: it names no Pod, counts nothing, and reads the same while a container goes
// round its crash loop, so that a condition made of it is written once. Controllers of both kinds call it.
package podhealth
