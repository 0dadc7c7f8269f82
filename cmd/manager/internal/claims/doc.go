// Package claims lets several operators share one cluster, each with namespaces of its own, and never two with the same one.
//
// All of them meet in one Lease. The operator without a name holds it as every leader does; each shard keeps a record of the same
// kind in an annotation of it, together with the namespaces that it claims. So to lead and to own namespaces is one write, which the
// API server refuses if anybody else wrote meanwhile. Lock is what leader election works with; Claim says who collides with whom.
//
// The one invariant: no write of a record succeeds while another operator's claim stands that covers one of the same namespaces. A
// claim stands until nobody has renewed it for Options.Hold, also when its holder has given leadership back, so that the other
// replicas of the same operator come first.
package claims
