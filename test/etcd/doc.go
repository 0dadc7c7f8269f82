// Package etcd looks into the storage of a plane, past the API server: in which version an object is stored, and how often it
// was written. It uses controlplane; only tests use it.
package etcd
