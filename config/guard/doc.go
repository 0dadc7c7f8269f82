// Package guard judges changes of our CustomResourceDefinitions: would every stored object still be readable afterwards?
//
// The rules are the CEL expressions of crd_guard.yaml, a ValidatingAdmissionPolicy that is installed with the operator. Check
// evaluates that same file with the API server's own library, so what a command refuses before it writes is what the cluster
// refuses from anybody else, in the same words. The package imports nothing of this module.
package guard
