package monitoring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type target struct {
	Expr  string `json:"expr"`
	RefID string `json:"refId"`
}

type panel struct {
	ID      int      `json:"id"`
	Type    string   `json:"type"`
	Title   string   `json:"title"`
	Targets []target `json:"targets"`
	GridPos struct {
		H, W, X, Y int
	} `json:"gridPos"`
	Datasource struct{ UID string } `json:"datasource"`
}

// TestDashboard: each panel shows something that exists, for the job that was chosen, in a place of its own.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "config", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		UID    string  `json:"uid"`
		Panels []panel `json:"panels"`
	}
	if err := json.Unmarshal(raw, &dashboard); err != nil {
		t.Fatal(err)
	}
	known := vocabularyOf(t)
	ids, titles, places := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	for _, p := range dashboard.Panels {
		if ids[p.ID] || titles[p.Title] {
			t.Errorf("the panel %d %s is there twice", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := places[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("%s is over %s, or beyond the edge", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		if p.Type != "row" && (len(p.Targets) == 0 || p.Datasource.UID != "${datasource}") {
			t.Errorf("%s has no query, or a fixed data source", p.Title)
		}
		for _, query := range p.Targets {
			if !strings.Contains(query.Expr, `job=~"$job"`) {
				t.Errorf("%s: %s is not about the chosen job", p.Title, query.Expr)
			}
			// A variable of the dashboard is no part of PromQL.
			for _, mistake := range known.mistakes(strings.ReplaceAll(query.Expr, "$__rate_interval", "5m")) {
				t.Errorf("%s: %s", p.Title, mistake)
			}
		}
	}
	for _, mentioned := range panelsInRunbooks(t) {
		if !titles[mentioned] {
			t.Errorf("docs/runbooks.md sends the reader to the panel %q, which does not exist", mentioned)
		}
	}
}

// panelsInRunbooks are the panels that sentences with the word panel name, in italics.
func panelsInRunbooks(t *testing.T) []string {
	t.Helper()
	var panels []string
	for _, section := range sections(t, "runbooks.md") {
		for _, match := range italics.FindAllStringSubmatch(section, -1) {
			panels = append(panels, strings.Join(strings.Fields(match[1]), " "))
		}
	}
	slices.Sort(panels)
	if len(panels) < 5 {
		t.Fatalf("only %v found", panels)
	}
	return slices.Compact(panels)
}
