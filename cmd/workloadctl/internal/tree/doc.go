// Package tree shows a WebApp or PodSet with everything that hangs on it: owner, children, Pods, conditions and events, and what is
// worst about them.
//
// Read collects, grow makes the tree of it, and Write draws it; the last two are pure. It reads v1 alone, and imports apis and
// controllers/podhealth.
package tree
