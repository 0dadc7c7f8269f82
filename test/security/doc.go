// Package security holds the proofs of what the operator and its users may do: the operator runs under the shipped roles with
// every request in the audit log, and users act under the roles edit and view of the cluster. docs/security.md is the text to it.
package security
