package migration

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/example/workload-operator/controllers/migration/ownership"
)

// planFor is Plan for a version that need not be the storage version.
func (e *Engine) planFor(ctx context.Context, d definition, target string) (*Report, error) {
	if err := e.answers(ctx, d, target); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s cannot be migrated now: %w", d.Name, err)
	}
	r := e.newRun(d.Name)
	r.adopt(d)
	r.report.Target, r.report.Planned = target, true
	translator, err := ownership.NewTranslator(d.CustomResourceDefinition, target)
	if err != nil {
		return nil, err
	}
	w := &writer{run: r, translator: translator, dryRun: true}
	readers := r.readers()
	p := r.newPass(PhasePlanning, r.report, func(ctx context.Context, item *metav1.PartialObjectMetadata) (outcome, error) {
		for _, reader := range readers {
			if o, err := reader.read(ctx, item); err != nil || o.result == refused {
				return o, err
			}
		}
		o, err := w.rewrite(ctx, item)
		if o.result == unchanged {
			o.result = rewritten // a dry run keeps the resourceVersion, so it cannot tell
		}
		return o, err
	})
	p.each = func(ctx context.Context, next page) error {
		for _, reader := range readers {
			if err := reader.follow(ctx, len(next.items)); err != nil {
				return err
			}
		}
		return nil
	}
	if err := p.over(ctx, ""); err != nil {
		return nil, err
	}
	return r.close(), nil
}

// reader reads every object in a version that a plan is not about. A whole page is one request; one object that cannot be
// converted fails the page, and from then on each is read by itself.
type reader struct {
	*run
	version  string
	position string
	ended    bool
	singly   bool
}

func (r *run) readers() []*reader {
	var readers []*reader
	for _, version := range r.definition.others(r.report.Target) {
		readers = append(readers, &reader{run: r, version: version})
	}
	return readers
}

// follow reads as many objects as the page of the plan has.
func (r *reader) follow(ctx context.Context, n int) error {
	r.singly = r.singly || r.ended
	if r.singly || n == 0 {
		return nil
	}
	var answer page
	err := r.gate.do(ctx, func(ctx context.Context) (err error) {
		answer, err = fetch(ctx, r.metadata.Resource(r.definition.resource(r.version)), r.position, int64(n))
		return err
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r.position, r.ended, r.singly = answer.next, answer.next == "", err != nil
	return nil
}

// read reads one object, if pages cannot be read.
func (r *reader) read(ctx context.Context, item *metav1.PartialObjectMetadata) (outcome, error) {
	if !r.singly {
		return outcome{}, nil
	}
	err := r.gate.do(ctx, func(ctx context.Context) error {
		_, err := r.metadata.Resource(r.definition.resource(r.version)).Namespace(item.Namespace).Get(ctx, item.Name, metav1.GetOptions{})
		return err
	})
	switch {
	case ctx.Err() != nil:
		return outcome{}, ctx.Err()
	case err == nil, apierrors.IsNotFound(err):
		return outcome{}, nil
	}
	return outcome{result: refused, reason: fmt.Sprintf("cannot be read in version %s: %s", r.version, oneLine(err))}, nil
}
