package migration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/example/workload-operator/controllers/migration/ownership"
)

// run is one call for one definition.
type run struct {
	*Engine
	teller
	definition definition
	report     *Report
	started    time.Time
	noted      time.Time // when the latest record was written
	gate       *gate
}

func (e *Engine) newRun(crd string) *run {
	r := &run{
		Engine:  e,
		teller:  teller{crd: crd, observe: e.options.Observe},
		report:  &Report{CRD: crd},
		started: time.Now(),
	}
	r.gate = &gate{check: r.inOrder, poll: e.options.Poll, waiting: r.wait}
	return r
}

// wait tells what is waited for.
func (r *run) wait(missing error) { r.tell(Progress{Phase: PhaseWaiting, Waiting: oneLine(missing)}) }

// errMoved ends a run whose definition got another storage version.
var errMoved = errors.New("the storage version was changed during the migration: run it again")

// inOrder says what stands in the way of reading and writing objects, nil if nothing does.
func (r *run) inOrder(ctx context.Context) error {
	d, err := r.read(ctx, r.report.CRD)
	if err != nil {
		return err
	}
	if d.UID != r.definition.UID || d.target() != r.definition.target() {
		return errMoved
	}
	return r.answers(ctx, d, r.report.Target)
}

// adopt takes a definition as the one that the run is about.
func (r *run) adopt(d definition) {
	r.definition = d
	r.report.Target, r.report.StoredVersions = d.target(), d.Status.StoredVersions
}

// rewrite is the pass in which every object is written once.
func (r *run) rewrite(ctx context.Context) error {
	position, done := r.resume()
	if done {
		return nil
	}
	if err := r.begin(ctx); err != nil {
		return err
	}
	return r.rewriteFrom(ctx, position)
}

func (r *run) rewriteFrom(ctx context.Context, position string) error {
	translator, err := ownership.NewTranslator(r.definition.CustomResourceDefinition, r.definition.target())
	if err != nil {
		return err
	}
	w := &writer{run: r, translator: translator}
	if r.options.Native {
		if err := r.rewriteNatively(ctx); err != nil {
			return err
		}
		w.onlyOwners = true
	}
	p := r.newPass(PhaseRewriting, r.report, w.rewrite)
	p.checkpoint = r.note
	return p.over(ctx, position)
}

// resume is where to begin: where a former run under the very same definition was stopped, unless it left objects behind. done says
// that it had rewritten everything and was stopped in the verification, which never goes on: it begins again.
func (r *run) resume() (position string, done bool) {
	last := r.definition.record()
	if last == nil || last.Refused > 0 || last.Target != r.definition.target() || last.Generation != r.definition.Generation {
		return "", false
	}
	switch last.Phase {
	case PhaseRewriting:
		position = last.Position
	case PhaseVerifying:
		done = true
	}
	r.report.Resumed = done || position != ""
	return position, done
}

// verify is a pass of its own, in which every object is written again. The report counts what it finds apart from the rewriting.
func (r *run) verify(ctx context.Context) error {
	found := &Report{}
	w := &writer{run: r}
	if err := r.newPass(PhaseVerifying, found, w.verify).over(ctx, ""); err != nil {
		return err
	}
	if r.report.Objects == 0 {
		r.report.Objects, r.report.Unchanged, r.report.Rewritten, r.report.Moved = found.Objects, found.Unchanged, found.Rewritten, found.Moved
	}
	r.report.Refused, r.report.Refusals = found.Refused, found.Refusals
	r.report.Stale += found.Stale
	for _, p := range found.StaleObjects {
		r.report.StaleObjects = appendUpTo(r.report.StaleObjects, p, r.options.Listed)
	}
	r.report.Verified = found.Refused == 0 && found.Stale == 0
	return nil
}

// attempts bounds how often a proof is begun anew.
const attempts = 5

// prove verifies and trims. A verification that found an object in another form has put it right, but proves nothing, so there is
// another. What was verified under one generation of the definition says nothing about the next, which may have had another
// storage version for a while, so a change sends everything back to the wait for it to settle.
func (r *run) prove(ctx context.Context) error {
	target := r.definition.target()
	for range attempts {
		if err := r.write(ctx, Record{Phase: PhaseVerifying}); err != nil {
			return err
		}
		if err := r.verify(ctx); err != nil || r.report.Refused > 0 {
			return err
		}
		if !r.report.Verified {
			continue
		}
		same, err := r.trim(ctx)
		if err != nil || same {
			return err
		}
		if err := r.await(ctx); err != nil {
			return err
		}
		if now := r.definition.target(); now != target {
			return fmt.Errorf("the storage version of CustomResourceDefinition %s became %s during the migration to %s: run it again", r.report.CRD, now, target)
		}
	}
	if !r.report.Verified {
		return nil // something goes on to write another form; the report names the objects
	}
	return fmt.Errorf("CustomResourceDefinition %s keeps changing: run the migration again when it does not", r.report.CRD)
}

// finish leaves the record of the end.
func (r *run) finish(ctx context.Context) (*Report, error) {
	report := r.close()
	return report, r.end(ctx)
}

// close completes the report and tells the end.
func (r *run) close() *Report {
	r.report.Duration = time.Since(r.started)
	phase := PhaseDone
	if !r.report.Complete() {
		phase = PhaseIncomplete
	}
	r.tell(Progress{Phase: phase, Done: r.report.Objects, Total: r.report.Objects, Refused: r.report.Refused})
	return r.report
}
