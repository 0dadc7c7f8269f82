// Package checkup looks at an installation of the operator and says what is wrong, each with a command that mends it.
//
// look.go and its neighbours read the cluster into an observation; judges are pure functions from that to findings. before.go
// does the same for an installation or upgrade that is still to come. The package writes nothing: its one write is a dry run.
// It imports config and controllers/migration, and is imported by workloadctl alone.
package checkup
