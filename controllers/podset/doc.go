// Package podset reconciles PodSets: it owns their Pods directly, heals, scales and updates them.
//
// One pass observes (cache only, unless the cache is known to miss something), plans (pure), applies (the only writes), computes the status (pure), writes it if it
// differs, and then tells events. The package reads apis, podtemplate and podhealth; the manager reaches it through Setup.
//
// The one invariant: no decision is made on a cache that is older than our own last write. Names of Pods are chosen
// before the create call, so a write is remembered by name until the cache shows it, and a lost answer is asked for again
// under the same name instead of creating a second Pod.
package podset
