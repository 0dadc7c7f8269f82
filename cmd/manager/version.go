package main

import "runtime/debug"

// release is set at build time (-ldflags "-X main.release=v1.2.3").
var release string

// version is the release, or what the Go toolchain recorded about the source.
func version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
