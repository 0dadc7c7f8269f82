package claims

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const (
	// recordPrefix precedes the name of a shard in the key of the annotation that holds its record.
	recordPrefix = "shard.workload.example.com/"
	// claimAnnotation holds the claim of the operator without a name, whose record is the Lease itself.
	claimAnnotation = "workload.example.com/claim"
)

// record is one operator's part of the Lease.
type record struct {
	Claim
	resourcelock.LeaderElectionRecord
}

// leaderClaim is the content of claimAnnotation. It counts only for the holder that wrote it: a release of the operator that knows
// nothing of claims leaves the annotation as it is, and reconciles every namespace.
type leaderClaim struct {
	Claim
	Holder string `json:"holder"`
}

// recordsOf returns the records of a Lease by operator. The one without a name has the empty one, and none before it first led.
func recordsOf(lease *coordinationv1.Lease) map[string]record {
	records := map[string]record{}
	if lease.Spec.RenewTime != nil {
		r := record{Claim: Claim{Webhooks: true}, LeaderElectionRecord: *resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)}
		var said leaderClaim
		err := json.Unmarshal([]byte(lease.Annotations[claimAnnotation]), &said)
		if err == nil && said.Holder == r.HolderIdentity {
			r.Claim = said.Claim
		}
		records[""] = r
	}
	for key, value := range lease.Annotations {
		shard, ok := strings.CutPrefix(key, recordPrefix)
		if !ok || shard == "" {
			continue
		}
		var r record
		if json.Unmarshal([]byte(value), &r) != nil {
			// Nobody knows what it claims. Unless somebody writes it anew, it is dropped in time as every other.
			r = record{Claim: Claim{Webhooks: true}}
		}
		records[shard] = r
	}
	return records
}

// put writes the record of one operator into a Lease.
func put(lease *coordinationv1.Lease, shard string, r record) error {
	annotations := maps.Clone(lease.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
	key, content := recordPrefix+shard, any(r)
	if shard == "" {
		lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&r.LeaderElectionRecord)
		key, content = claimAnnotation, leaderClaim{Claim: r.Claim, Holder: r.HolderIdentity}
	}
	value, err := json.Marshal(content)
	if err != nil {
		return err
	}
	annotations[key] = string(value)
	if shard == "" && len(r.Namespaces) == 0 && len(r.Except) == 0 {
		delete(annotations, key) // everything, which is what a Lease without it says
	}
	lease.Annotations = annotations
	return nil
}

// raw is a record in bytes, by which a change of it is seen.
func (r record) raw() string {
	b, err := json.Marshal(r)
	if err != nil {
		return ""
	}
	return string(b)
}

// sorted returns the names of operators, so that the same one is named each time.
func sorted(records map[string]record) []string { return slices.Sorted(maps.Keys(records)) }
