// Package migration measures the migration engine against the cluster's own StorageVersionMigration and against a script that lists
// and patches, on the same objects and with the same limits.
//
//	go test -run '^$' -bench . -benchtime 1x -timeout 30m ./test/bench/migration -args -objects 10000
package migration
