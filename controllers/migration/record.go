package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationRecord of a CustomResourceDefinition holds the Record of the latest run, as JSON. It lives there because the API
// server rebuilds the caches of a kind only when the spec or the accepted names of its definition change, not for metadata.
const AnnotationRecord = "workload.example.com/migration"

// recordInterval is the least time between two records of a phase. An API server validates the whole definition for each.
const recordInterval = 10 * time.Second

// Record is what a run notes on the definition while it works, so that another one can go on, and everybody can look.
type Record struct {
	// Actor did the run.
	Actor string `json:"actor"`
	// Target is the storage version, Generation that of the definition. What was done counts only for these.
	Target     string `json:"target"`
	Generation int64  `json:"generation"`
	Phase      Phase  `json:"phase"`
	Done       int    `json:"done"`
	Total      int    `json:"total,omitempty"`
	Refused    int    `json:"refused,omitempty"`
	// Position is where the rewriting goes on: everything before it is done.
	Position string    `json:"position,omitempty"`
	Started  time.Time `json:"started"`
	Updated  time.Time `json:"updated"`
}

// begin notes that the rewriting begins. It is the first write, and shows whether the definition can be written at all.
func (r *run) begin(ctx context.Context) error {
	if r.report.Resumed {
		return nil
	}
	return r.write(ctx, Record{Phase: PhaseRewriting})
}

// note is the checkpoint of the rewriting.
func (r *run) note(ctx context.Context, position string, total int) {
	if time.Since(r.noted) < recordInterval {
		return
	}
	// A record that could not be written costs a later run some time, no more. The next one comes in seconds.
	_ = r.write(ctx, Record{Phase: PhaseRewriting, Position: position, Done: r.report.Objects, Total: total, Refused: r.report.Refused})
}

// end notes how the run ended.
func (r *run) end(ctx context.Context) error {
	phase := PhaseDone
	if !r.report.Complete() {
		phase = PhaseIncomplete
	}
	return r.write(ctx, Record{Phase: phase, Done: r.report.Objects, Refused: r.report.Refused})
}

func (r *run) write(ctx context.Context, record Record) error {
	record.Actor, record.Target, record.Generation = r.options.Actor, r.definition.target(), r.definition.Generation
	record.Started, record.Updated = r.started.UTC().Truncate(time.Second), time.Now().UTC().Truncate(time.Second)
	text, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("encoding the record of the migration: %w", err)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationRecord: string(text)}}})
	if err != nil {
		return fmt.Errorf("encoding the record of the migration: %w", err)
	}
	err = r.gate.do(ctx, func(ctx context.Context) error {
		_, err := r.definitions.Patch(ctx, r.report.CRD, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: fieldManager})
		return err
	})
	if err != nil {
		return fmt.Errorf("noting the migration on CustomResourceDefinition %s: %w", r.report.CRD, err)
	}
	r.noted = time.Now()
	return nil
}
