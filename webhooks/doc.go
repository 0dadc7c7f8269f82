// Package webhooks admits WebApps and PodSets: it fills in what a schema cannot express and refuses what the cluster could
// not run. There is one rule set, on v1; v1alpha1 requests reach it converted, and what they are told is in v1alpha1's names.
//
// A rule lives on the lowest floor that holds it. Types, bounds and most rules are in the schema and its CEL (apis), so they
// hold while this package is down; here is the rest, per kind in webapp.go and podset.go, shared in the files pod*.go.
// validation.go puts the rules together and ratchets them, defaulting.go defaults, handler.go serves. Setup is the way in for
// cmd/manager; Default and Rules judge offline. The package imports apis, config and conversion.
//
// The one invariant: an object is never decoded and encoded again. Defaulting answers with patches of what it changed, so
// everything else is stored as it was written.
package webhooks
