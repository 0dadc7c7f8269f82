// Package documents holds README.md and docs/ to the code: links lead somewhere, commands exist, what a page shows of a command's
// output is what the command prints, and the JSON Schemas accept what the CustomResourceDefinitions accept.
//
// What other tests hold is not repeated: docs/upgrade.md is walked by test/upgrade, the tables of webapp.md, podset.md, rules.md and
// conversion.md are checked where the code is.
package documents
