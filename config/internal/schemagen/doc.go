// Command schemagen writes JSON Schemas of every version of our kinds, for editors and for tools that check manifests without a
// cluster. It reads the CustomResourceDefinitions from standard input, and writes two files for each version into the folder of its
// group: webapp_v1.json, and webapp_v1-strict.json, which accepts no unknown fields.
//
// A schema says what the OpenAPI schema of the definition says, in words that JSON Schema draft 7 has; CEL rules it cannot say.
//
// It imports the package generator beside it, and nothing else of this module. `make generate` runs it.
package main
