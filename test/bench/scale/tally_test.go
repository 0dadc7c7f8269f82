package scale

import (
	"time"

	"github.com/example/workload-operator/test/controlplane"
	"github.com/example/workload-operator/test/operator"
)

const operatorUser = "system:serviceaccount:" + operator.Namespace + ":workload-operator-controller-manager"

// tally counts the operator's requests in the audit log, reading each line once: the log of ten thousand WebApps is long.
type tally struct {
	log    controlplane.AuditLog
	offset int64

	requests, writes int // watches and Leases are none, nor are reads in the operator's own namespace
	last             time.Time
}

// advance reads on, and returns how many requests were new.
func (t *tally) advance() (int, error) {
	before := t.requests
	offset, err := t.log.Read(t.offset, func(q *controlplane.Request) {
		if q.User != operatorUser || q.Resource == "leases" || q.Verb == "watch" {
			return
		}
		written := q.Verb != "get" && q.Verb != "list" && q.Resource != "tokenreviews" && q.Resource != "subjectaccessreviews"
		if !written && q.Namespace == operator.Namespace {
			return
		}
		t.requests++
		t.last = q.Time
		if written {
			t.writes++
		}
	})
	t.offset = offset
	return t.requests - before, err
}

// counted reads on and returns what has been counted so far.
func (r *rig) counted() tally {
	r.Helper()
	_, err := r.calls.advance()
	r.check(err)
	return *r.calls
}
