package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationRecord of a CustomResourceDefinition holds the Record of the latest run, as JSON. It lives there because the API
// server rebuilds the caches of a kind only when the spec or the accepted names of its definition change, not for metadata.
const AnnotationRecord = "workload.example.com/migration"

// A record names so many refused objects, each with so much of the reason: annotations of an object are bounded, and the record
// is one among them.
const (
	recordedRefusals = 50
	recordedReason   = 400
)

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
	// Refusals names the first of the refused.
	Refusals []Problem `json:"refusals,omitempty"`
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
	_ = r.write(ctx, Record{Phase: PhaseRewriting, Position: position, Done: r.report.Objects, Total: total})
}

// end notes how the run ended.
func (r *run) end(ctx context.Context) error {
	phase := PhaseDone
	if !r.report.Complete() {
		phase = PhaseIncomplete
	}
	return r.write(ctx, Record{Phase: phase, Done: r.report.Objects})
}

// RecordOf is what the latest run left on a CustomResourceDefinition, nil if there is none that can be read.
func RecordOf(crd metav1.Object) *Record {
	record := &Record{}
	text := crd.GetAnnotations()[AnnotationRecord]
	if text == "" || json.Unmarshal([]byte(text), record) != nil {
		return nil
	}
	return record
}

// shortened are as many problems, and as much of each, as a record holds.
func shortened(problems []Problem) []Problem {
	few := slices.Clone(problems[:min(len(problems), recordedRefusals)])
	for i, p := range few {
		if len(p.Reason) > recordedReason {
			few[i].Reason = strings.ToValidUTF8(p.Reason[:recordedReason], "") + "..."
		}
	}
	return few
}

func (r *run) write(ctx context.Context, record Record) error {
	record.Actor, record.Target, record.Generation = r.options.Actor, r.definition.target(), r.definition.Generation
	record.Refused, record.Refusals = r.report.Refused, shortened(r.report.Refusals)
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
