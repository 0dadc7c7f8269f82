package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/example/workload-operator/controllers/migration"
)

// writeStatuses writes a line for each definition, or JSON.
func writeStatuses(w io.Writer, statuses []*migration.Status, output string) error {
	if output == formatJSONName {
		return writeJSON(w, append([]*migration.Status{}, statuses...))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEFINITION\tSTORAGE\tSTORED\tLATEST RUN\tPENDING")
	for _, s := range statuses {
		latest, pending := "none", "no"
		if r := s.Record; r != nil {
			actor, _, _ := strings.Cut(r.Actor, "/")
			latest = fmt.Sprintf("%s %s to %s by %s", r.Updated.Format(time.RFC3339), r.Phase, r.Target, actor)
			if r.Refused > 0 {
				latest += fmt.Sprintf(", %d refused", r.Refused)
			}
		}
		if s.Pending {
			pending = s.Reason
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.CRD, s.Target, strings.Join(s.StoredVersions, ","), latest, pending)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range statuses {
		if r := s.Record; r != nil {
			listed := r.Refusals[:min(len(r.Refusals), shownRefusals)]
			writeProblems(w, s.CRD+": refused by the latest run", r.Refused, listed)
			saysWhatMends(w, r.Refused)
		}
	}
	return nil
}

// shownRefusals bounds the objects that a status names.
const shownRefusals = 20

// saysWhatMends points on, below objects that were refused.
func saysWhatMends(w io.Writer, refused int) {
	if refused > 0 {
		fmt.Fprintln(w, "  workloadctl check says what mends this")
	}
}

// writeReports writes a line for each definition and, below, the objects that have a problem; or JSON.
func writeReports(w io.Writer, reports []*migration.Report, output string) error {
	if output == formatJSONName {
		return writeJSON(w, append([]*migration.Report{}, reports...))
	}
	if len(reports) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEFINITION\tTARGET\tOBJECTS\tREWRITTEN\tUNCHANGED\tMOVED\tREFUSED\tSTORED\tRESULT")
	for _, r := range reports {
		rewritten := fmt.Sprint(r.Rewritten)
		if r.Planned {
			rewritten = "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%d\t%d\t%d\t%s\t%s\n",
			r.CRD, r.Target, r.Objects, rewritten, r.Unchanged, r.Moved, r.Refused, strings.Join(r.StoredVersions, ","), verdict(r))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, r := range reports {
		writeProblems(w, r.CRD+": refused", r.Refused, r.Refusals)
		if !r.Planned {
			saysWhatMends(w, r.Refused)
			saysOwners(w, r)
		}
		writeProblems(w, r.CRD+": found in another form", r.Stale, r.StaleObjects)
	}
	return nil
}

// saysOwners explains objects that were rewritten although they were stored in the version already. Where a whole kind is migrated,
// that is no news.
func saysOwners(w io.Writer, r *migration.Report) {
	if r.Owners > 0 && !r.Trimmed {
		fmt.Fprintf(w, "\n%s: %d rewritten because a client had written through another version: metadata.managedFields named it\n", r.CRD, r.Owners)
	}
}

// verdict is the outcome in a few words.
func verdict(r *migration.Report) string {
	took := r.Duration.Round(100 * time.Millisecond)
	switch {
	case r.Planned && r.Complete():
		return "nobody refuses"
	case r.Planned:
		return "some would be refused"
	case r.Trimmed:
		return fmt.Sprintf("migrated in %s", took)
	case r.Complete():
		return fmt.Sprintf("verified in %s", took)
	case r.Refused > 0:
		return "objects were refused: see below, then run again"
	}
	return "not proved: run again"
}

func writeProblems(w io.Writer, title string, n int, problems []migration.Problem) {
	if n == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s (%d):\n", title, n)
	for _, p := range problems {
		fmt.Fprintf(w, "  %s/%s: %s\n", p.Namespace, p.Name, p.Reason)
	}
	if left := n - len(problems); left > 0 {
		fmt.Fprintf(w, "  and %d more\n", left)
	}
}

func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// writePlainJSON leaves the characters of commands as they are.
func writePlainJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
