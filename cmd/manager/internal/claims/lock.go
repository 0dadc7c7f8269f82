package claims

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
)

// attempts to write while others write the same Lease.
const attempts = 8

// Options of a Lock.
type Options struct {
	// Namespace and Name of the Lease that all operators share.
	Namespace, Name string
	// Shard is the name of this operator; empty for the one without.
	Shard string
	// Identity of this process among the replicas of the operator.
	Identity string
	// Claim of this operator.
	Claim Claim
	// Hold is how long a claim stands after it was last renewed. It must be longer than a leader that cannot renew goes on, and
	// leave the replicas of the same operator time to take over.
	Hold time.Duration
	// Log is told who stands in the way.
	Log logr.Logger
	// Clock; nil is the real one.
	Clock clock.PassiveClock
	// Event is told what becomes of the leadership; nil for nobody.
	Event func(lease *coordinationv1.Lease, message string)
}

// Lock is what leader election reads and writes. It must be used by one elector, which calls one method at a time; Refused may be
// called at any time.
type Lock struct {
	options Options
	leases  coordinationv1client.LeaseInterface

	lease *coordinationv1.Lease // as last read or written
	seen  map[string]sighting   // by operator

	looked atomic.Bool
	inWay  atomic.Pointer[obstacle]
}

// sighting is since when the record of an operator looks as it does.
type sighting struct {
	raw   string
	since time.Time
}

var _ resourcelock.Interface = (*Lock)(nil)

// NewLock makes a lock. It sends no request.
func NewLock(leases coordinationv1client.LeasesGetter, o Options) *Lock {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return &Lock{options: o, leases: leases.Leases(o.Namespace), seen: map[string]sighting{}}
}

// Refused says why this operator may not work because of another one. It is nil if nothing stands in the way.
func (l *Lock) Refused() error {
	if !l.looked.Load() {
		return errors.New("the claims of other operators have not been read yet")
	}
	if r := l.inWay.Load(); r != nil {
		return r.err()
	}
	return nil
}

// Get returns the record of this operator. While another one stands in its way it returns a record of that one instead, which
// never gets old: to an elector the lock is held, and it waits.
func (l *Lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	if err := l.read(ctx); err != nil {
		return nil, nil, err
	}
	if r := l.judge(); r != nil {
		now := l.options.Clock.Now()
		held := &resourcelock.LeaderElectionRecord{
			HolderIdentity: fmt.Sprintf("another operator: shard %q", r.holder), LeaseDurationSeconds: int(l.options.Hold / time.Second), RenewTime: metav1.NewTime(now),
		}
		return held, []byte(held.HolderIdentity + now.String()), nil
	}
	own, found := recordsOf(l.lease)[l.options.Shard]
	if !found {
		return nil, nil, apierrors.NewNotFound(coordinationv1.Resource("leases"), l.Describe())
	}
	return &own.LeaderElectionRecord, []byte(own.raw()), nil
}

// Create writes the first record of this operator.
func (l *Lock) Create(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	if l.lease != nil {
		return l.Update(ctx, ler)
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.options.Namespace, Name: l.options.Name}}
	if err := put(lease, l.options.Shard, record{l.options.Claim, ler}); err != nil {
		return err
	}
	created, err := l.leases.Create(ctx, lease, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	l.observe(created)
	return nil
}

// Update writes the record of this operator, if it is still the one that was last read or written here, and if no other operator
// stands in the way. To give leadership back is always possible.
func (l *Lock) Update(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	if l.lease == nil {
		return errors.New("the Lease has not been read yet")
	}
	known := recordsOf(l.lease)
	before := known[l.options.Shard].raw()
	_, has := known[l.options.Shard]
	// Where others write too, what was read last is old.
	fresh := len(known) == 0 || len(known) == 1 && has
	for range attempts {
		if !fresh {
			if err := l.read(ctx); err != nil {
				return err
			}
			if recordsOf(l.lease)[l.options.Shard].raw() != before {
				return apierrors.NewConflict(coordinationv1.Resource("leases"), l.Describe(), errors.New("another replica wrote the record"))
			}
		}
		if r := l.judge(); r != nil && ler.HolderIdentity != "" {
			return r.err()
		}
		err := l.write(ctx, ler)
		if !apierrors.IsConflict(err) {
			return err
		}
		fresh = false
	}
	return apierrors.NewConflict(coordinationv1.Resource("leases"), l.Describe(), errors.New("others write it all the time"))
}

// write sends the Lease as last seen, with the record, and without those of shards whose claims stand no more.
func (l *Lock) write(ctx context.Context, ler resourcelock.LeaderElectionRecord) error {
	lease := l.lease.DeepCopy()
	if err := put(lease, l.options.Shard, record{l.options.Claim, ler}); err != nil {
		return err
	}
	for shard := range recordsOf(l.lease) {
		if shard != "" && shard != l.options.Shard && !l.stands(shard) {
			delete(lease.Annotations, recordPrefix+shard)
		}
	}
	written, err := l.leases.Update(ctx, lease, metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	l.observe(written)
	return nil
}

// read reads the Lease.
func (l *Lock) read(ctx context.Context) error {
	lease, err := l.leases.Get(ctx, l.options.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		l.lease = nil
		l.report(nil)
	}
	if err != nil {
		return err
	}
	l.observe(lease)
	return nil
}

// observe takes note of the Lease, and of the records that changed. Clocks of other machines play no part.
func (l *Lock) observe(lease *coordinationv1.Lease) {
	l.lease = lease
	records := recordsOf(lease)
	for shard := range l.seen {
		if _, there := records[shard]; !there {
			delete(l.seen, shard)
		}
	}
	for shard, r := range records {
		if raw := r.raw(); l.seen[shard].raw != raw {
			l.seen[shard] = sighting{raw: raw, since: l.options.Clock.Now()}
		}
	}
}

// stands reports whether the claim of an operator has to be respected.
func (l *Lock) stands(shard string) bool {
	return l.options.Clock.Since(l.seen[shard].since) <= l.options.Hold
}

// judge looks for an operator that stands in the way.
func (l *Lock) judge() *obstacle {
	records := recordsOf(l.lease)
	for _, shard := range sorted(records) {
		if shard == l.options.Shard || !l.stands(shard) {
			continue
		}
		if what := l.options.Claim.overlap(records[shard].Claim); what != "" {
			r := &obstacle{shard: l.options.Shard, holder: shard, what: what, process: records[shard].HolderIdentity}
			l.report(r)
			return r
		}
	}
	l.report(nil)
	return nil
}

// report keeps who is in the way for Refused, and logs what is new about it.
func (l *Lock) report(r *obstacle) {
	before := l.inWay.Swap(r)
	l.looked.Store(true)
	switch {
	case r != nil && (before == nil || *before != *r):
		l.options.Log.Info("Another operator is in the way", "reason", r.err().Error())
	case r == nil && before != nil:
		l.options.Log.Info("The other operator is not in the way any more", "operator", before.holder)
	}
}

// RecordEvent tells what became of the leadership.
func (l *Lock) RecordEvent(message string) {
	if l.options.Event != nil && l.lease != nil {
		l.options.Event(l.lease, l.options.Identity+" "+message)
	}
}

// Identity of this process.
func (l *Lock) Identity() string { return l.options.Identity }

// Describe names the Lease, and the part of it.
func (l *Lock) Describe() string {
	if l.options.Shard == "" {
		return l.options.Namespace + "/" + l.options.Name
	}
	return fmt.Sprintf("%s/%s (shard %s)", l.options.Namespace, l.options.Name, l.options.Shard)
}
