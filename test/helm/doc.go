// Package helm runs the life of a release with the pinned helm against the plane: install, upgrade, rollback, uninstall and install
// again, by server-side and by client-side apply. docs/install.md shows the commands that it runs.
//
// The chart is installed as it is shipped, but for the Service of the webhooks, which leads to this machine. No kubelet of the plane
// runs containers, so kubelet_test.go does: what a Pod of the release says is run as a process, with its arguments, its environment
// and its ServiceAccount, and nothing more.
package helm
