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
		return writeJSON(w, statuses)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "DEFINITION\tSTORAGE\tSTORED\tLATEST RUN\tPENDING")
	for _, s := range statuses {
		latest, pending := "none", "no"
		if r := s.Record; r != nil {
			latest = fmt.Sprintf("%s %s to %s", r.Updated.Format(time.RFC3339), r.Phase, r.Target)
			if r.Refused > 0 {
				latest += fmt.Sprintf(", %d refused", r.Refused)
			}
		}
		if s.Pending {
			pending = s.Reason
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.CRD, s.Target, strings.Join(s.StoredVersions, ","), latest, pending)
	}
	return table.Flush()
}

// writeReports writes a line for each definition and, below, the objects that have a problem; or JSON.
func writeReports(w io.Writer, reports []*migration.Report, output string) error {
	if output == formatJSONName {
		return writeJSON(w, reports)
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
		if r.Refused > 0 && !r.Planned {
			fmt.Fprintln(w, "  workloadctl check says what mends this")
		}
		writeProblems(w, r.CRD+": found in another form", r.Stale, r.StaleObjects)
	}
	return nil
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
