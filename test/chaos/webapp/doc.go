// Package webapp kills the operator, and restarts the API server, while WebApps are created, changed and deleted in both
// versions, and checks that what is left in the end is exactly what was last asked for.
package webapp
