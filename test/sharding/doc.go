// Package sharding holds the suite in which several operators share one cluster: each writes in namespaces of its own, no two in the
// same one at any time, also while namespaces move and while leaders die. Who wrote what is read from the API server's audit log.
package sharding
