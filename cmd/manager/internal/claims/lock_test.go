package claims

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/example/workload-operator/test/controlplane"
)

const hold = 30 * time.Second

func TestMain(m *testing.M) {
	os.Exit(controlplane.Main(m, controlplane.Options{Parts: controlplane.APIOnly()}))
}

// stage is one Lease on a real API server, and a clock that all operators read.
type stage struct {
	t      *testing.T
	leases coordinationv1client.CoordinationV1Interface
	name   string
	clock  *clocktesting.FakePassiveClock
}

func newStage(t *testing.T) *stage {
	t.Helper()
	client, err := coordinationv1client.NewForConfig(controlplane.Attach(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	return &stage{t: t, leases: client, name: name, clock: clocktesting.NewFakePassiveClock(time.Now())}
}

// player is one process of an operator.
type player struct {
	*Lock
	t   *testing.T
	log *[]string
}

func (s *stage) player(shard, identity string, claim Claim) *player {
	said := &[]string{}
	logger := funcr.New(func(_, args string) { *said = append(*said, args) }, funcr.Options{})
	return &player{NewLock(s.leases, Options{Namespace: "default", Name: s.name, Shard: shard, Identity: identity, Claim: claim, Hold: hold, Log: logger, Clock: s.clock}), s.t, said}
}

func (s *stage) pass(d time.Duration) { s.clock.SetTime(s.clock.Now().Add(d)) }

func (s *stage) lease() *coordinationv1.Lease {
	s.t.Helper()
	lease, err := s.leases.Leases("default").Get(s.t.Context(), s.name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return lease
}

// lead does what an elector does to get or keep the leadership, if it sees nobody who has it.
func (p *player) lead() error {
	ctx := p.t.Context()
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: p.Identity(), LeaseDurationSeconds: 15, RenewTime: metav1.NewTime(p.options.Clock.Now())}
	switch held, _, err := p.Get(ctx); {
	case apierrors.IsNotFound(err):
		return p.Create(ctx, mine)
	case err != nil:
		return err
	case held.HolderIdentity != "" && held.HolderIdentity != p.Identity():
		return fmt.Errorf("held by %s", held.HolderIdentity)
	}
	return p.Update(ctx, mine)
}

func (p *player) mustLead() {
	p.t.Helper()
	if err := p.lead(); err != nil {
		p.t.Fatalf("%s cannot lead: %v", p.Identity(), err)
	}
}

func (p *player) mustNotLead() {
	p.t.Helper()
	if err := p.lead(); err == nil {
		p.t.Fatalf("%s leads", p.Identity())
	}
}

func (p *player) giveBack() {
	p.t.Helper()
	if err := p.Update(p.t.Context(), resourcelock.LeaderElectionRecord{LeaseDurationSeconds: 1, RenewTime: metav1.NewTime(p.options.Clock.Now())}); err != nil {
		p.t.Fatal(err)
	}
}

func of(namespaces ...string) Claim { return Claim{Namespaces: namespaces} }

func TestSideBySide(t *testing.T) {
	s := newStage(t)
	rest := s.player("", "rest-1", Claim{Except: []string{"a", "b"}, Webhooks: true})
	a, b := s.player("a", "a-1", of("a")), s.player("b", "b-1", of("b"))
	for range 3 {
		b.mustLead() // the first creates the Lease, whoever it is
		rest.mustLead()
		a.mustLead()
		s.pass(5 * time.Second)
	}
	if holder := *s.lease().Spec.HolderIdentity; holder != "rest-1" {
		t.Errorf("the holder of the Lease is %s", holder)
	}
	if err := a.Refused(); err != nil {
		t.Errorf("refused: %v", err)
	}
}

// One that wants what another has stays out, says once who has it, and gets it when the other one comes back without.
func TestMove(t *testing.T) {
	s := newStage(t)
	a, b := s.player("a", "a-1", of("x", "y")), s.player("b", "b-1", of("y", "z"))
	if b.Refused() == nil {
		t.Error("an operator that has not looked yet cannot know")
	}
	a.mustLead()
	for range 3 {
		b.mustNotLead()
		a.mustLead()
		s.pass(2 * hold / 3)
	}
	if err := b.Refused(); err == nil || !strings.Contains(err.Error(), `namespace y is claimed by shard "a" (a-1)`) {
		t.Errorf("the reason is %v", err)
	}
	if len(*b.log) != 1 || !strings.Contains((*b.log)[0], "namespace y is claimed") {
		t.Errorf("it says %v", *b.log)
	}
	a.giveBack()
	b.mustNotLead() // the replicas of a come first
	s.player("a", "a-2", of("x")).mustLead()
	b.mustLead()
	if err := b.Refused(); err != nil {
		t.Errorf("still refused: %v", err)
	}
	s.player("a", "a-3", of("x", "y")).mustNotLead()
}

// A claim that nobody renews is taken over by others only after the replicas of the same operator had their time, and the one
// who had it cannot come back.
func TestExpiry(t *testing.T) {
	s := newStage(t)
	a, b := s.player("a", "a-1", of("x")), s.player("b", "b-1", of("x"))
	a.mustLead()
	b.mustNotLead()
	s.pass(hold)
	b.mustNotLead()
	s.pass(time.Second)
	b.mustLead()
	renewal := resourcelock.LeaderElectionRecord{HolderIdentity: "a-1", LeaseDurationSeconds: 15, RenewTime: metav1.NewTime(s.clock.Now())}
	if err := a.Update(t.Context(), renewal); err == nil {
		t.Error("the former holder renewed")
	}
	a.mustNotLead()
	if diff := cmp.Diff([]string{"b"}, sorted(recordsOf(s.lease()))); diff != "" {
		t.Errorf("the claim that stands no more is still there (-want, +got):\n%s", diff)
	}
	// The operator without a name is no exception, but its Lease is left as it is.
	rest := s.player("", "rest-1", Claim{Except: []string{"x"}})
	rest.mustLead()
	c := s.player("c", "c-1", of("z"))
	c.mustNotLead()
	s.pass(hold + time.Second)
	c.mustLead()
	rest.mustNotLead()
}

// An operator that knows nothing of claims, such as one of an older release, has every namespace.
func TestOlderRelease(t *testing.T) {
	s := newStage(t)
	s.player("", "rest-1", Claim{Except: []string{"a"}, Webhooks: true}).mustLead()
	a := s.player("a", "a-1", of("a"))
	a.mustLead()
	older := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: s.name}, Client: s.leases, LockConfig: resourcelock.ResourceLockConfig{Identity: "older"}}
	record, _, err := older.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if record.HolderIdentity != "rest-1" {
		t.Errorf("the older release sees the holder %s", record.HolderIdentity)
	}
	record.HolderIdentity, record.RenewTime = "older", metav1.NewTime(s.clock.Now())
	if err := older.Update(t.Context(), *record); err != nil {
		t.Fatal(err)
	}
	a.mustNotLead()
	if err := a.Refused(); err == nil || !strings.Contains(err.Error(), "the operator without --shard (older)") {
		t.Errorf("the reason is %v", err)
	}
}

// What cannot be read may claim anything.
func TestUnreadable(t *testing.T) {
	s := newStage(t)
	a := s.player("a", "a-1", of("a"))
	a.mustLead()
	lease := s.lease()
	lease.Annotations[recordPrefix+"b"] = "{"
	if _, err := s.leases.Leases("default").Update(t.Context(), lease, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.mustNotLead()
	s.pass(hold + time.Second)
	a.mustLead()
	if len(recordsOf(s.lease())) != 1 {
		t.Error("it is still there")
	}
}

// Without shards, the Lease is what it always was: nothing is added, and a renewal is one request.
func TestAlone(t *testing.T) {
	s := newStage(t)
	p := s.player("", "one", Claim{Webhooks: true})
	p.mustLead()
	before := s.lease()
	p.lease = before.DeepCopy()
	p.leases = &counting{LeaseInterface: p.leases}
	if err := p.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "one", LeaseDurationSeconds: 15, RenewTime: metav1.Now()}); err != nil {
		t.Fatal(err)
	}
	if got := p.leases.(*counting).requests; got != 1 {
		t.Errorf("%d requests", got)
	}
	if len(before.Annotations) != 0 {
		t.Errorf("annotations: %v", before.Annotations)
	}
}

type counting struct {
	coordinationv1client.LeaseInterface
	requests int
}

func (c *counting) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	c.requests++
	return c.LeaseInterface.Get(ctx, name, o)
}

func (c *counting) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	c.requests++
	return c.LeaseInterface.Update(ctx, lease, o)
}

// Many claim the same namespace at once, from the same state: one gets it, each time. Others who claim nothing of it are not kept
// from renewing.
func TestAtOnce(t *testing.T) {
	for round := range 5 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			s := newStage(t)
			bystander := s.player("bystander", "bystander-1", of("other"))
			bystander.mustLead()
			players := make([]*player, 6)
			for i := range players {
				players[i] = s.player(fmt.Sprintf("s%d", i%3), fmt.Sprintf("s%d-%d", i%3, i), of("x", fmt.Sprint("own-", i%3)))
				if err := players[i].read(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			won := make([]bool, len(players)+1)
			var all sync.WaitGroup
			for i, p := range append(players, bystander) {
				all.Go(func() { won[i] = p.lead() == nil })
			}
			all.Wait()
			winners := 0
			for _, w := range won[:len(players)] {
				if w {
					winners++
				}
			}
			if winners != 1 || !won[len(players)] {
				t.Errorf("%d got it, and the bystander renewed: %v", winners, won[len(players)])
			}
		})
	}
}
