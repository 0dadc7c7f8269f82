// Package config holds the manifests of the operator. The folders are a kustomize tree, with default as its root; the Go code
// embeds the CustomResourceDefinitions, so that every program installs and checks the same bytes.
//
// It imports nothing of this module. The files in crd/bases, rbac/role.yaml and webhook/manifests.yaml are generated from
// the markers in the Go code by `make generate`; everything else is written by hand.
package config
