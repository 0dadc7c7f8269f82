// Package upgrade takes the road of the CustomResourceDefinitions from v1alpha1 to v1, R1 to R5, on a real control plane: every
// step forward, every step back, steps that are refused, and accidents on the way, while clients read and write in both versions.
//
// Steps are taken by the workloadctl binary, migrations by the engine of controllers/migration, and the stored bytes are read from
// etcd. The tests of docs/upgrade.md run its commands. Long versions are behind flags:
//
//	go test ./test/upgrade -args -objects 100 -dwell 5m -kills 10 -quiet 50
package upgrade
