// Package unattended runs a migration when a definition of ours may have objects stored in another version than its storage
// version, and reports it when it may not run one. It uses package migration; cmd/manager sets it up.
//
// The one invariant: it acts only while this replica leads, and an object that is refused makes it come back later and later,
// not at once.
package unattended
