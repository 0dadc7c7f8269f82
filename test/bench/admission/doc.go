// Package admission measures what admission costs: a webhook alone, over HTTPS, and writes through a real API server with our
// webhooks next to the same API without them. Conversion is there in both, since v1alpha1 needs it.
//
// Run it with go test ./test/bench/admission -run '^$' -bench . Ratios are to the API without webhooks in the same run.
package admission
