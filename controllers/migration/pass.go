package migration

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// pass is one walk over all objects of a kind.
type pass struct {
	*run
	phase    Phase
	resource metadata.Getter
	// visit does what the pass is for with one object. An error ends the pass.
	visit func(context.Context, *metav1.PartialObjectMetadata) (outcome, error)
	// each sees every page before its objects are visited; may be nil.
	each func(context.Context, page) error
	// checkpoint is told where to go on after each page; may be nil.
	checkpoint func(ctx context.Context, position string, total int)

	mu      sync.Mutex
	report  *Report
	total   int
	started time.Time
}

func (r *run) newPass(phase Phase, into *Report, visit func(context.Context, *metav1.PartialObjectMetadata) (outcome, error)) *pass {
	return &pass{
		run: r, phase: phase, report: into, visit: visit, started: time.Now(),
		resource: r.metadata.Resource(r.definition.resource(r.report.Target)),
	}
}

// over walks from a position to the end. The next page is fetched while the objects of one are worked on, so memory holds two
// pages, however many objects there are.
func (p *pass) over(ctx context.Context, position string) error {
	p.mu.Lock()
	p.observe()
	p.mu.Unlock()
	pages := make(chan page, 1)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(pages)
		return p.fetch(ctx, position, pages)
	})
	group.Go(func() error {
		for next := range pages {
			if err := p.work(ctx, next); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

func (p *pass) fetch(ctx context.Context, position string, pages chan<- page) error {
	for {
		next := page{}
		err := p.gate.do(ctx, func(ctx context.Context) (err error) {
			next, err = fetch(ctx, p.resource, position, p.options.PageSize)
			return err
		})
		if err != nil {
			return fmt.Errorf("listing the objects of %s: %w", p.definition.Name, err)
		}
		select {
		case pages <- next:
		case <-ctx.Done():
			return ctx.Err()
		}
		if position = next.next; position == "" {
			return nil
		}
	}
}

// work visits the objects of a page, so many at a time, and returns when all are done.
func (p *pass) work(ctx context.Context, next page) error {
	if err := p.hold(ctx); err != nil {
		return err
	}
	p.mu.Lock()
	p.total = p.report.Objects + len(next.items) + next.left
	p.mu.Unlock()
	if p.each != nil {
		if err := p.each(ctx, next); err != nil {
			return err
		}
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(p.options.Workers)
	for i := range next.items {
		group.Go(func() error { return p.one(groupCtx, &next.items[i]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if p.checkpoint != nil && next.next != "" {
		p.checkpoint(ctx, next.next, p.total)
	}
	return nil
}

// hold waits while the further condition does not hold.
func (p *pass) hold(ctx context.Context) error {
	for {
		err := p.options.Ready(ctx)
		if err == nil {
			return nil
		}
		p.wait(err)
		if err := pause(ctx, p.options.Poll); err != nil {
			return err
		}
	}
}

func (p *pass) one(ctx context.Context, item *metav1.PartialObjectMetadata) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o, err := p.visit(ctx, item)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.add(Problem{Namespace: item.Namespace, Name: item.Name, UID: item.UID}, o, p.options.Listed)
	p.observe()
	return nil
}

// observe tells where the pass stands. The lock is held, so that it never seems to go back.
func (p *pass) observe() {
	p.tell(Progress{
		Phase: p.phase, Done: p.report.Objects, Total: p.total, Refused: p.report.Refused,
		Remaining: estimate(p.report.Objects, p.total, time.Since(p.started)),
	})
}
