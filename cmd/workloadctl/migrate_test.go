package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
		"no cluster":           {[]string{"migrate", "status", "--kubeconfig", nowhere}, "no cluster to work on: there is no kubeconfig"},
		"no cluster to leave":  {[]string{"uninstall", "--kubeconfig", nowhere}, "no cluster to work on: there is no kubeconfig"},
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

// M-12: progress on a terminal is a bar, on one that can only print a line now and then, and elsewhere JSON lines.
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

// TestDisplayElsewhere: where nobody watches, progress is for programs, whatever the output is.
func TestDisplayElsewhere(t *testing.T) {
	for _, output := range []string{formatTable, formatJSONName} {
		var w bytes.Buffer
		newDisplay(&w, output).observe(migration.Progress{CRD: "a", Phase: migration.PhaseVerifying, Done: 1})
		if diff := cmp.Diff(`{"crd":"a","phase":"Verifying","done":1}`+"\n", w.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", output, diff)
		}
	}
}

// TestDisplayRepeatsNothing: as long as nothing changes, nothing is printed, however long it takes; and what is waited for is said.
func TestDisplayRepeatsNothing(t *testing.T) {
	for _, d := range []*display{{}, {json: true}, {terminal: true}} {
		var w bytes.Buffer
		d.w = &w
		p := migration.Progress{CRD: "a", Phase: migration.PhaseRewriting, Waiting: "the cluster"}
		for range 3 {
			d.observe(p)
			d.at = d.at.Add(-time.Hour)
		}
		if said := w.String(); strings.Count(said, "the cluster") != 1 || strings.Count(said, "\n") != 1 {
			t.Errorf("%+v prints %q", d, said)
		}
		p.Done, p.Waiting = 1, ""
		d.observe(p)
		d.end()
		if said := w.String(); strings.Count(said, "\n") != 2 {
			t.Errorf("%+v prints %q", d, said)
		}
	}
}

// TestNothingAsJSON: a script that reads a list gets one, also an empty one.
func TestNothingAsJSON(t *testing.T) {
	var w bytes.Buffer
	if err := errors.Join(writeReports(&w, nil, formatJSONName), writeStatuses(&w, nil, formatJSONName)); err != nil || w.String() != "[]\n[]\n" {
		t.Errorf("%v, got %q", err, &w)
	}
}

// TestStatuses: a status names what was refused, so many of them.
func TestStatuses(t *testing.T) {
	record := &migration.Record{Actor: "workloadctl/v1.2.3", Target: "v1", Phase: migration.PhaseIncomplete, Refused: 30, Updated: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	for i := range 25 {
		record.Refusals = append(record.Refusals, migration.Problem{Namespace: "n", Name: fmt.Sprint("x", i), Reason: "frozen"})
	}
	var w bytes.Buffer
	err := writeStatuses(&w, []*migration.Status{
		{CRD: "a", Target: "v1", StoredVersions: []string{"v1alpha1", "v1"}, Pending: true, Reason: "because", Record: record},
		{CRD: "b", Target: "v1", StoredVersions: []string{"v1"}},
	}, formatTable)
	want := `DEFINITION  STORAGE  STORED       LATEST RUN                                                        PENDING
a           v1       v1alpha1,v1  2026-11-30T12:00:00Z Incomplete to v1 by workloadctl, 30 refused  because
b           v1       v1           none                                                              no

a: refused by the latest run (30):
`
	for i := range shownRefusals {
		want += fmt.Sprintf("  n/x%d: frozen\n", i)
	}
	want += "  and 10 more\n  workloadctl check says what mends this\n"
	if diff := cmp.Diff(want, w.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestMigrateFlags: what makes no sense is refused before the cluster is asked.
func TestMigrateFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"--timeout=-1s": "--timeout -1s is negative", "--qps=0": "--qps 0 is not positive", "--qps=-1": "--qps -1 is not positive",
		"--workers=0": "--workers 0 is less than 1", "--settle=-1s": "--settle -1s is negative",
	} {
		if got := runWith("", "migrate", "run", flag, "--kubeconfig=/nowhere"); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: got %+v", flag, got)
		}
	}
	if got := runWith("", "rollout", "status", "wa/x", "--timeout=-1s"); got.code != exitUsage || !strings.Contains(got.stderr, "--timeout -1s is negative") {
		t.Errorf("got %+v", got)
	}
}

func TestReports(t *testing.T) {
	var w bytes.Buffer
	err := writeReports(&w, []*migration.Report{
		{CRD: "a", Target: "v1", StoredVersions: []string{"v1"}, Objects: 3, Rewritten: 3, Verified: true, Trimmed: true, Duration: 1234 * time.Millisecond},
		{CRD: "b", Target: "v1", StoredVersions: []string{"v1alpha1", "v1"}, Objects: 9, Refused: 2, Rewritten: 7, Refusals: []migration.Problem{{Namespace: "n", Name: "x", Reason: "frozen"}}},
		{CRD: "c", Target: "v1", StoredVersions: []string{"v1"}, Objects: 1, Rewritten: 1, Planned: true, Owners: 1},
		{CRD: "d", Target: "v1", StoredVersions: []string{"v1"}, Objects: 2, Rewritten: 1, Unchanged: 1, Verified: true, Owners: 1},
	}, formatTable)
	want := `DEFINITION  TARGET  OBJECTS  REWRITTEN  UNCHANGED  MOVED  REFUSED  STORED       RESULT
a           v1      3        3          0          0      0        v1           migrated in 1.2s
b           v1      9        7          0          0      2        v1alpha1,v1  objects were refused: see below, then run again
c           v1      1        -          0          0      0        v1           nobody refuses
d           v1      2        1          1          0      0        v1           verified in 0s

b: refused (2):
  n/x: frozen
  and 1 more
  workloadctl check says what mends this

d: 1 rewritten because a client had written through another version: metadata.managedFields named it
`
	if diff := cmp.Diff(want, w.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
