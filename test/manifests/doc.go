// Package manifests renders what is shipped, with the pinned tools, for tests of packages one folder below the root of the
// repository. It imports nothing of this module.
package manifests
