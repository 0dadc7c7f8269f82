// Package ownership translates entries of metadata.managedFields from one version of a kind to another.
//
// An entry says which fields a manager set, by their paths in the version that it used. Once that version is gone from the
// definition, server-side apply fails on every object that still has such an entry. What a manager owns after the translation is
// what it would own had it set the same values in the other version: the values are taken from the object, converted by the
// table of the kind, and read as a set of paths by the schema of the other version. It uses conversion; package migration uses it.
//
// The one invariant: a manager never comes to own a field that it did not set at least a part of, nor one that the object lacks.
package ownership
