// Command manager is the operator: it serves the conversion and admission webhooks on every replica and runs the controllers on
// the one that leads.
//
// options.go reads the flags, run.go is the order in which things start and stop, wire.go is the list of what is run, and
// shard.go says for which namespaces. It uses controllers, webhooks and conversion; nothing uses it.
//
// The one invariant: nothing that serves the webhooks waits for a cache of our kinds. Filling such a cache can need the webhooks.
package main
