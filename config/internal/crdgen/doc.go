// Command crdgen finishes the CustomResourceDefinitions that controller-gen prints: it reads them from standard input and
// writes one file for each into a folder.
//
// It adds what no marker can say, the conversion stanza, and keeps the files small enough to be applied by any client: text
// that comes from k8s.io/api is cut to its first sentence, text of our own stays whole. Which is which follows from the Go
// types, so a new field needs no entry here.
//
// It imports apis, and the package generator beside it. `make generate` runs it.
package main
