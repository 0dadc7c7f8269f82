package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/example/workload-operator/controllers/migration"
)

func TestMigrateUsage(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "kubeconfig")
	cases := map[string]struct {
		args []string
		want string
	}{
		"no verb of that name": {[]string{"migrate", "walk"}, `unknown command "walk" (see workloadctl migrate --help)`},
		"no kind of that name": {[]string{"migrate", "run", "pod"}, `unknown kind "pod": use webapp or podset (see workloadctl migrate run --help)`},
		"no such format":       {[]string{"migrate", "status", "-o", "xml"}, `-o "xml": use table or json (see workloadctl migrate status --help)`},
		"no cluster":           {[]string{"migrate", "status", "--kubeconfig", nowhere}, "no connection to a cluster"},
		"no cluster to leave":  {[]string{"uninstall", "--kubeconfig", nowhere}, "no connection to a cluster"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runWith("", c.args...)
			if got.code != exitUsage || !strings.Contains(got.stderr, c.want) {
				t.Errorf("code %d, stderr %s", got.code, got.stderr)
			}
		})
	}
}

func TestDefinitionsOf(t *testing.T) {
	cases := map[string]struct {
		kinds []string
		want  []string
	}{
		"All":        {nil, []string{"webapps.app.example.com", "podsets.batch.example.com"}},
		"Short":      {[]string{"ps"}, []string{"podsets.batch.example.com"}},
		"AnyCase":    {[]string{"WebApp", "webapps"}, []string{"webapps.app.example.com"}},
		"Definition": {[]string{"podsets.batch.example.com"}, []string{"podsets.batch.example.com"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := definitionsOf(c.kinds)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// M-12: progress on a terminal is a bar, elsewhere a line now and then, or JSON lines.
func TestDisplay(t *testing.T) {
	const crd = "webapps.app.example.com"
	steps := []migration.Progress{
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the latest change of the definition to settle: 59s left"},
		{CRD: crd, Phase: migration.PhaseWaiting, Waiting: "the latest change of the definition to settle: 58s left"},
		{CRD: crd, Phase: migration.PhaseRewriting},
		{CRD: crd, Phase: migration.PhaseRewriting, Done: 1, Total: 300},
		{CRD: crd, Phase: migration.PhaseVerifying, Done: 150, Total: 300, Refused: 2, Remaining: time.Minute},
	}
	cases := map[string]struct {
		display display
		want    []string
	}{
		"Lines": {display{}, []string{
			crd + "  waiting for: the latest change of the definition to settle: 59s left",
			crd + "  Rewriting   0",
			crd + "  Verifying   150/300, 2 refused, 1m0s left",
		}},
		"Bar": {display{terminal: true}, []string{
			crd + "  waiting for: the latest change of the definition to settle: 59s left",
			"\r\x1b[K" + crd + "  Rewriting   0  [..............................]" +
				"\r\x1b[K" + crd + "  Verifying   150/300, 2 refused, 1m0s left  [###############...............]",
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var w bytes.Buffer
			c.display.w = &w
			for _, p := range steps {
				c.display.observe(p)
			}
			c.display.end()
			if diff := cmp.Diff(strings.Join(c.want, "\n")+"\n", w.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	var w bytes.Buffer
	d := display{w: &w, json: true}
	for _, p := range steps {
		d.observe(p)
	}
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	var last migration.Progress
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 3 {
		t.Fatalf("%d lines: %v", len(lines), err)
	}
	if diff := cmp.Diff(steps[4], last); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReports(t *testing.T) {
	var w bytes.Buffer
	err := writeReports(&w, []*migration.Report{
		{CRD: "a", Target: "v1", StoredVersions: []string{"v1"}, Objects: 3, Rewritten: 3, Verified: true, Trimmed: true, Duration: 1234 * time.Millisecond},
		{CRD: "b", Target: "v1", StoredVersions: []string{"v1alpha1", "v1"}, Objects: 9, Refused: 2, Rewritten: 7, Refusals: []migration.Problem{{Namespace: "n", Name: "x", Reason: "frozen"}}},
		{CRD: "c", Target: "v1", StoredVersions: []string{"v1"}, Objects: 1, Rewritten: 1, Planned: true},
	}, formatTable)
	want := `DEFINITION  TARGET  OBJECTS  REWRITTEN  UNCHANGED  MOVED  REFUSED  STORED       RESULT
a           v1      3        3          0          0      0        v1           migrated in 1.2s
b           v1      9        7          0          0      2        v1alpha1,v1  objects were refused: see below, then run again
c           v1      1        -          0          0      0        v1           nobody refuses

b: refused (2):
  n/x: frozen
  and 1 more
  workloadctl check says what mends this
`
	if diff := cmp.Diff(want, w.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
