// Package migration rewrites the stored objects of a CustomResourceDefinition in its storage version, proves that none is left in
// another one, and only then trims status.storedVersions.
//
// engine.go has the calls, preflight.go what must hold before the first write, pass.go the walk over all objects, object.go the
// write of one object, trim.go the end. Package ownership translates entries of managedFields, package unattended is the
// controller that runs an Engine by itself. The command line uses an Engine too. It uses conversion; of a kind it knows nothing
// but its definition.
//
// The one invariant: a version leaves status.storedVersions only after a pass over every object, begun after the definition last
// changed and had settled, in which no write changed anything.
package migration
