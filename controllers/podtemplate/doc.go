// Package podtemplate turns the settings that both kinds share into the template of their Pods.
//
// Build is pure: the same settings give the same bytes, release after release, because a changed template restarts Pods.
// testdata holds the bytes of a corpus of settings; a test fails when one of them moves. Controllers of both kinds call
// this package; it imports only apis.
package podtemplate
