package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

const typo = "{apiVersion: app.example.com/v1, kind: WebApp, metadata: {name: w}, spec: {image: 'web:1', "

// TestMistakes: what strict decoding refuses is an error of validate, in the words of the API server, with what was probably meant;
// convert does its work, and says what became of it.
func TestMistakes(t *testing.T) {
	older := strings.Replace(strings.Replace(typo, "/v1", "/v1alpha1", 1), "image: 'web:1'", "image: {repository: web}", 1)
	const v1Fields, parked = "is kept in the annotation workload.example.com/v1-fields", "is kept in the annotation workload.example.com/unconvertible"
	for name, c := range map[string]struct {
		in, field, message, fate string
	}{
		"misspelt":          {typo + "replica: 3}}", "spec.replica", `unknown field "spec.replica"; did you mean "replicas"?`, v1Fields},
		"case":              {typo + "Replicas: 3}}", "spec.Replicas", `unknown field "spec.Replicas"; did you mean "replicas"?`, v1Fields},
		"unlike any":        {typo + "surprise: 3}}", "spec.surprise", `unknown field "spec.surprise"`, v1Fields},
		"in a list":         {typo + "env: [{name: A, valu: b}]}}", "spec.env[0].valu", `unknown field "spec.env[0].valu"; did you mean "value"?`, v1Fields},
		"name of the other": {older + "replicas: 3}}", "spec.replicas", `unknown field "spec.replicas"; app.example.com/v1alpha1 calls it "spec.scale.instances"`, parked},
		"field of v1 only":  {older + "volumes: []}}", "spec.volumes", `unknown field "spec.volumes"; it is a field of app.example.com/v1`, parked},
		"field of v1alpha1": {typo + "scale: {instances: 3}}}", "spec.scale", `unknown field "spec.scale"; it is a field of app.example.com/v1alpha1`, v1Fields},
		"at the top":        {typo + "}, Spec: {}}", "Spec", `unknown field "Spec"; did you mean "spec"?`, "stays as it is"},
		"in metadata":       {strings.Replace(typo, "name: w", "name: w, label: {a: b}", 1) + "}}", "metadata.label", `unknown field "metadata.label"; did you mean "labels"?`, "stays as it is"},
		"in status":         {typo + "}, status: {phas: x}}", "status.phas", `unknown field "status.phas"; did you mean "phase"?`, "stays as it is"},
		"twice in YAML":     {typo + "port: 1, port: 2}}", "spec.port", `duplicate field "spec.port" (line 1)`, `line 1: key "port" comes again; the last one counts`},
		"twice in JSON":     {`{"apiVersion":"app.example.com/v1","kind":"WebApp","metadata":{"name":"w"},"spec":{"image":"web:1","port":1,"port":2}}`, "spec.port", `duplicate field "spec.port"`, "the last one counts"},
		"twice in an item":  {"{apiVersion: v1, kind: List, items: [{kind: X}, " + typo + "port: 1, port: 2}}]}", "spec.port", `duplicate field "spec.port" (line 1)`, `key "port" comes again`},
	} {
		t.Run(name, func(t *testing.T) {
			got := runWith(c.in, "validate", "-f", "-", "-o", "json")
			want := `"field": "` + c.field + `",` + "\n          \"message\": \"" + strings.ReplaceAll(c.message, `"`, `\"`) + `"`
			if got.code != exitFailure || strings.Count(got.stdout, `"message"`) != 1 || !strings.Contains(got.stdout, want) {
				t.Errorf("got %+v, want %s", got, want)
			}
			to := oneOf(strings.Contains(c.in, "/v1alpha1"), "app.example.com/v1", "app.example.com/v1alpha1")
			converted := runWith(c.in, "convert", "-f", "-", "--to", to)
			if converted.code != exitOK || strings.Count(converted.stderr, "\n") != 1 || !strings.HasPrefix(converted.stderr, "Warning: stdin: document 1: ") || !strings.Contains(converted.stderr, c.fate) {
				t.Errorf("convert: got %+v", converted)
			}
			if kept := regexp.MustCompile(`annotation (\S+)`).FindStringSubmatch(converted.stderr); kept != nil && !strings.Contains(converted.stdout, strings.TrimSuffix(kept[1], ";")) {
				t.Errorf("there is no annotation %s: %s", kept[1], converted.stdout)
			}
		})
	}
}

// TestStoredMistakes: a cluster dropped the unknown fields of what it stores long ago, so only those of the manifest count.
func TestStoredMistakes(t *testing.T) {
	stored := filepath.Join(t.TempDir(), "stored.yaml")
	if err := os.WriteFile(stored, []byte(typo+"replica: 3}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := runWith(typo+"replicas: 3}}", "validate", "-f", "-", "--stored", stored); got.code != exitOK || strings.Contains(got.stdout, "unknown field") {
		t.Errorf("in the stored object: got %+v", got)
	}
	if got := runWith(typo+"replica: 3}}", "validate", "-f", "-", "--stored", stored); got.code != exitFailure || !strings.Contains(got.stdout, `unknown field "spec.replica"`) {
		t.Errorf("in both: got %+v", got)
	}
}

// TestUnknownKinds: in our groups, a kind or version that is not there is an error of every verb. Other groups are passed over.
func TestUnknownKinds(t *testing.T) {
	const there = " (there is WebApp in app.example.com/v1, app.example.com/v1alpha1)"
	for in, want := range map[string]string{
		"apiVersion: app.example.com/v1\nkind: WebAp":      `no kind "WebAp" in version "app.example.com/v1"; did you mean "WebApp"?` + there,
		"apiVersion: app.example.com/v1\nkind: webapp":     `no kind "webapp" in version "app.example.com/v1"; did you mean "WebApp"?` + there,
		"apiVersion: app.example.com/v2\nkind: WebApp":     `no kind "WebApp" in version "app.example.com/v2"; did you mean "app.example.com/v1"?` + there,
		"apiVersion: app.example.com/v1\nkind: WebApList":  `no kind "WebApList" in version "app.example.com/v1"; did you mean "WebAppList"?` + there,
		"apiVersion: app.example.com/v2\nkind: WebAppList": `no kind "WebAppList" in version "app.example.com/v2"; did you mean "app.example.com/v1"?` + there,
		"apiVersion: app.example.com/v1\nkind: PodSet":     `no kind "PodSet" in version "app.example.com/v1"` + there,
		"kind: WebApp":                                   `no kind "WebApp" in version ""; did you mean "app.example.com/v1"?`,
		"apiVersion: v1\nkind: PodSet":                   `no kind "PodSet" in version "v1"; did you mean "batch.example.com/v1"?`,
		"apiVersion: app.example.com/v1/x\nkind: WebApp": `no kind "WebApp" in version "app.example.com/v1/x"; did you mean "app.example.com/v1"?`,
		"apiVersion: app.example.com/v1":                 `no kind "" in version "app.example.com/v1"` + there,
	} {
		for verb, args := range manifestVerbs {
			if verb == "diff" {
				continue // needs a cluster first; see testStrictDiff
			}
			for _, in := range []string{in, "{apiVersion: v1, kind: List, items: [{" + strings.ReplaceAll(in, "\n", ", ") + "}]}"} {
				got := runWith(in, append(args, "-f", "-")...)
				if got.code != exitFailure || !strings.Contains(got.stdout+got.stderr, want) {
					t.Errorf("%s of %s: got %+v", verb, in, got)
				}
			}
		}
	}
	// What looks like a misspelling of ours is an error of validate, and a warning of convert, which leaves it as it is.
	const near, hint = "apiVersion: apps.example.com/v1\nkind: WebApp\n", `apps.example.com/v1 WebApp is of another group; did you mean "app.example.com/v1"?`
	if got := runWith(near, "validate", "-f", "-"); got.code != exitFailure || !strings.Contains(got.stdout, hint) {
		t.Errorf("validate: got %+v", got)
	}
	if got := runWith(near, "convert", "-f", "-", "--to", bothUp); got.code != exitOK || got.stdout != near || !strings.Contains(got.stderr, hint) {
		t.Errorf("convert: got %+v", got)
	}
	for _, in := range []string{"apiVersion: apps/v1\nkind: Deployment\n", "apiVersion: web.corp.net/v1\nkind: WebApp\n"} {
		if got := runWith(in, "validate", "-f", "-"); got.code != exitOK || !strings.Contains(got.stdout, "not judged: 1") || got.stderr != "" {
			t.Errorf("validate of %q: got %+v", in, got)
		}
		if got := runWith(in, "convert", "-f", "-", "--to", bothUp); got.code != exitOK || got.stdout != in || got.stderr != "" {
			t.Errorf("convert of %q: got %+v", in, got)
		}
	}
	for _, in := range []string{"text", "- a", "a: b", "[{\"kind\": \"WebApp\"}]"} {
		if got := runWith(in, "validate", "-f", "-"); got.code != exitOK || !strings.Contains(got.stderr, "no apiVersion and no kind, so it is passed over") {
			t.Errorf("validate of %s: got %+v", in, got)
		}
	}
	if got := runWith("apiVersion: batch.example.com/v2\nkind: PodSett\n", "convert", "-f", "-", "--to", "app.example.com/v1"); got.code != exitOK || got.stderr != "" {
		t.Errorf("a group that --to does not name: got %+v", got)
	}
	for _, args := range [][]string{{"validate"}, {"convert", "--to", bothDown}} {
		if got := runWith("{apiVersion: v1, kind: List, items: {a: b}}", append(args, "-f", "-")...); got.code != exitFailure || !strings.Contains(got.stdout+got.stderr, "items is no list") {
			t.Errorf("%v of a list without items: got %+v", args, got)
		}
	}
}

// testStrictDiff: diff refuses what kubectl apply would, and says what was meant.
func (c *cluster) testStrictDiff() {
	c.t.Helper()
	anew := strings.Replace(newerManifest, "name: web,", "name: new,", 1)
	for manifest, want := range map[string]string{
		strings.Replace(newerManifest, "replicas", "replica", 1):                      `; did you mean "replicas"?`,
		strings.Replace(anew, "replicas", "replica", 1):                               `; did you mean "replicas"?`,
		strings.Replace(newerManifest, "value", "valu", 1):                            `; did you mean "value"?`,
		strings.Replace(olderManifest, "env", "replicas: 1, env", 1):                  `; app.example.com/v1alpha1 calls it "spec.scale.instances"`,
		strings.Replace(newerManifest, "replicas: 1", "replicas: 1, replicas: 2", 1):  `duplicate field "spec.replicas" (line 4)`,
		strings.Replace(newerManifest, "kind: WebApp", "kind: WebAp", 1):              `no kind "WebAp" in version "app.example.com/v1"; did you mean "WebApp"?`,
		strings.Replace(newerManifest, "app.example.com/v1", "app.example.com/v2", 1): `no kind "WebApp" in version "app.example.com/v2"; did you mean "app.example.com/v1"?`,
	} {
		file := c.file(manifest)
		for _, args := range [][]string{nil, {"--server-side", "--field-manager=somebody"}} {
			got := c.run(append([]string{"diff", "-f", file}, args...)...)
			c.Expect(got.code).To(gomega.Equal(exitUsage), manifest)
			c.Expect(got.stdout).To(gomega.BeEmpty())
			c.Expect(got.stderr).To(gomega.ContainSubstring(want))
			c.Expect(len(got.stderr)).To(gomega.BeNumerically("<", 400), "no more than what is wrong")
		}
	}
	applied := c.sh("kubectl apply --dry-run=server -f " + c.file(strings.Replace(anew, "replicas", "replica", 1)))
	c.Expect(applied.stderr).To(gomega.ContainSubstring(strictError+`unknown field "spec.replica"`), "kubectl is as strict")
}

// otherCommandsFlags are flags that help names for commands that are not ours.
var otherCommandsFlags = regexp.MustCompile(`kubectl[a-z ]*(?:\s--[a-z-]+(?:=\S+)?| -f \S+)+|kubectl\s+apply\s+--server-side`)

// TestHelpNamesItsFlags: every flag in the text of a verb is one that it has, spelt as it is typed.
func TestHelpNamesItsFlags(t *testing.T) {
	flagWord := regexp.MustCompile(`(?:^|[\s(,'"\[])(--?[a-zA-Z][a-zA-Z-]*)`)
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Name() == "help" {
			return // cobra's own
		}
		cmd.InitDefaultHelpFlag()
		usages := cmd.LocalFlags().FlagUsages()
		for text := range strings.SplitSeq(otherCommandsFlags.ReplaceAllString(cmd.Short+"\n"+cmd.Long, ""), "\n") {
			for _, found := range flagWord.FindAllStringSubmatch(text, -1) {
				if !regexp.MustCompile(`(^|[\s,])` + found[1] + `\b`).MatchString(usages) {
					t.Errorf("%s has no %s: %s", cmd.CommandPath(), found[1], text)
				}
			}
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRootCommand("workloadctl"))
}
