// Package certs gives the webhook server its serving certificate and tells the API server to trust it.
//
// The certificate lives in one Secret in the operator's namespace. Every replica watches that Secret and swaps what it
// serves in memory; no file is written. The bundle of authorities in the Secret is published as caBundle in the conversion
// stanza of our CustomResourceDefinitions and in our webhook configurations, and put back when somebody changes it.
//
// Who writes the Secret is the mode (mode.go). What to do next is decided by pure functions: policy.go judges a Secret, plan.go
// chooses one step for a Secret of our own, follow.go hands over to what others have put into theirs. issue.go carries a step out;
// run.go is the loop that ties them to the cluster. cmd/manager uses this package; it imports none of ours.
//
// The one invariant: an authority is trusted everywhere before a certificate signed by it is served, and for as long as any
// replica may still serve one.
package certs
