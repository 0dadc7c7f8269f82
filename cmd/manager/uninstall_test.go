package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/example/workload-operator/controllers/migration"
)

func TestUninstallRefuses(t *testing.T) {
	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"UnknownFlag":  {[]string{"--leader-elect"}, exitUsage, "not defined: -leader-elect; manager uninstall --help lists the flags"},
		"Argument":     {[]string{"now"}, exitUsage, `unexpected argument "now"`},
		"Rate":         {[]string{"--qps=0"}, exitUsage, "--qps 0 is not positive"},
		"Release":      {[]string{"--helm-release=team"}, exitUsage, "not namespace/name"},
		"NoNamespace":  {[]string{"--helm-release=/team"}, exitUsage, "not namespace/name"},
		"NoKubeconfig": {[]string{"--kubeconfig=/nowhere/at/all"}, exitFailure, "give --kubeconfig or run in a Pod"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := execute(t.Context(), append([]string{uninstallCommand}, test.args...), &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if got := stderr.String(); strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "manager: uninstall: ") || !strings.Contains(got, test.want) {
				t.Errorf("said %q, want one line with %q", got, test.want)
			}
		})
	}
}

func TestUninstallInforms(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), []string{uninstallCommand, "--help"}, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "-helm-release") {
		t.Errorf("code %d, stdout %q", code, stdout.String())
	}
}

// A cluster that does not answer is an error, after which nothing was done.
func TestUninstallNeedsACluster(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],` +
		`"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"current-context":"a","users":[{"name":"a","user":{}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), []string{uninstallCommand, "--kubeconfig=" + file}, &stdout, &stderr); code != exitFailure {
		t.Errorf("code %d", code)
	}
	if stdout.Len() > 0 || !strings.Contains(stderr.String(), "127.0.0.1:1") {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

// Objects that stand in the way are named, each with its reason.
func TestIncompleteNamesObjects(t *testing.T) {
	err := incomplete(&migration.Report{CRD: "webapps.app.example.com", Refused: 2, Refusals: []migration.Problem{
		{Namespace: "shop", Name: "a", Reason: "a policy says no"}, {Namespace: "shop", Name: "b", Reason: "so does another"},
	}})
	want := "2 objects of webapps.app.example.com could not be migrated; shop/a: a policy says no; shop/b: so does another"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestProgressLinesAreFew(t *testing.T) {
	var out bytes.Buffer
	tell := progressLines(&out)
	for i := range 1000 {
		tell(migration.Progress{CRD: "c", Phase: migration.PhaseRewriting, Done: i, Total: 1000})
	}
	tell(migration.Progress{CRD: "c", Phase: migration.PhaseWaiting, Waiting: time.Minute.String() + " to pass"})
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("%d lines, want 2:\n%s", got, out.String())
	}
}
