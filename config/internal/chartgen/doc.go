// Command chartgen writes those templates of the Helm chart that follow from config/: the CustomResourceDefinitions, the
// webhook configurations, the guard, the roles with their bindings and the ServiceAccount. It reads what kustomize builds of
// config/default from standard input, and leaves every other object of it to the templates written by hand. The rules for Prometheus
// come from a file, since they are no part of config/default.
//
// In the objects it replaces the default installation's namespace and name prefix by those of the release, and what the step of
// the release decides in the CustomResourceDefinitions.
//
// It imports the package generator beside it, and nothing else of this module. `make chart` runs it.
package main
