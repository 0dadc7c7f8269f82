package checkup

import (
	"errors"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/google/go-cmp/cmp"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
)

var update = flag.Bool("update", false, "write the shipped roles into roles.yaml")

// broken has one thing that is wrong with each installation. TestBroken wants that finding, and no other.
var broken = map[string]struct {
	mutate func(*testing.T, *seen)
	want   string // ID
	fix    string // part of it
}{
	"definition-missing":         {func(_ *testing.T, s *seen) { s.definitions[1].live, s.definitions[1].step = nil, "" }, "definition-missing", "workloadctl crds --step R3 --apply --context=prod"},
	"definition-not-established": {func(_ *testing.T, s *seen) { s.definitions[0].live.Status.Conditions = nil }, "definition-not-established", "kubectl --context=prod wait"},
	"no step": {func(_ *testing.T, s *seen) {
		s.definitions[0].step, s.definitions[0].live.Spec.Versions[0].Served = "", false
	}, "definition-step", "crds --step R3 --apply"},
	"no conversion": {func(_ *testing.T, s *seen) {
		s.definitions[0].step, s.definitions[0].live.Spec.Conversion = "", &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}, "conversion-missing", "crds --step R3 --apply"},
	"stanza elsewhere": {func(_ *testing.T, s *seen) { s.definitions[0].stanza().Service.Name = "other" }, "conversion-stanza", "--webhook-service=workload-operator-system/workload-operator-webhook-service"},
	"path elsewhere":   {func(_ *testing.T, s *seen) { s.definitions[0].stanza().Service.Path = nil }, "conversion-stanza", `"path":"/convert"`},
	"another release":  {func(_ *testing.T, s *seen) { s.definitions[0].live.Spec.Versions[0].Schema = nil }, "definition-release", "| kubectl --context=prod diff"},
	"pending": {func(_ *testing.T, s *seen) { s.definitions[0].migration.Pending = true }, "migration-pending",
		"workloadctl migrate run webapp --context=prod"},
	"refused": {func(_ *testing.T, s *seen) {
		s.definitions[0].migration.Pending = true
		s.definitions[0].plan = &migration.Report{Refused: 1, Refusals: []migration.Problem{{Namespace: "a", Name: "b", Reason: `denied by somebody`}}}
	}, "migration-refused", "workloadctl migrate plan webapp"},
	"no Secret":         {func(_ *testing.T, s *seen) { s.secret = nil }, "certificate-missing", "rollout restart deployment workload-operator-controller-manager"},
	"no key":            {func(_ *testing.T, s *seen) { delete(s.secret.Data, "tls.key") }, "certificate-unreadable", "rollout restart deployment"},
	"expired":           {func(t *testing.T, s *seen) { s.serve(issue(t, noon.Add(-time.Hour), host)) }, "certificate-expired", "rollout restart deployment"},
	"expires":           {func(t *testing.T, s *seen) { s.serve(issue(t, noon.Add(time.Hour), host)) }, "certificate-expires", "rollout restart deployment"},
	"other names":       {func(t *testing.T, s *seen) { s.serve(issue(t, noon.AddDate(0, 1, 0), "a.b.svc")) }, "certificate-names", "rollout restart deployment"},
	"from cert-manager": {func(t *testing.T, s *seen) { s.serve(issue(t, noon.Add(-time.Hour), host)); s.annotate() }, "certificate-expired", "delete secret workload-operator-webhook-certs"},
	"provided":          {func(t *testing.T, s *seen) { s.serve(issue(t, noon.Add(-time.Hour), host)); s.secret.Labels = nil }, "certificate-expired", "app.kubernetes.io/managed-by=workload-operator"},
	"provided by all means": {func(t *testing.T, s *seen) {
		s.serve(issue(t, noon.Add(-time.Hour), host))
		s.deployment.Spec.Template.Spec.Containers[0].Args = []string{"--certificate-mode=provided"}
	}, "certificate-expired", "--from-file=tls.crt --from-file=tls.key --from-file=ca.crt"},
	"stale bundle": {func(t *testing.T, s *seen) {
		s.definitions[0].stanza().CABundle = issue(t, noon.Add(time.Hour), host).authority
	}, "ca-bundle-stale", `patch customresourcedefinition webapps.app.example.com --type=merge -p "{\"spec\"`},
	"no bundle":          {func(_ *testing.T, s *seen) { s.mutating.Webhooks[2].ClientConfig.CABundle = nil }, "ca-bundle-missing", `/webhooks/2/clientConfig/caBundle`},
	"no configuration":   {func(_ *testing.T, s *seen) { s.mutating = nil }, "webhook-missing", "make deploy IMG=registry.example.com:5000/workload-operator:v1.2.0 'KUBECTL=kubectl --context=prod'"},
	"a webhook is gone":  {func(_ *testing.T, s *seen) { s.validating.Webhooks = s.validating.Webhooks[1:] }, "webhook-missing", "make deploy"},
	"a webhook may fail": {func(_ *testing.T, s *seen) { s.validating.Webhooks[3].FailurePolicy = new(admissionv1.Ignore) }, "webhook-policy", `"path":"/webhooks/3/failurePolicy","value":"Fail"`},
	"by helm": {func(_ *testing.T, s *seen) {
		s.validating = nil
		s.deployment.Annotations = map[string]string{"meta.helm.sh/release-name": "wo"}
	}, "webhook-missing", "helm upgrade wo charts/workload-operator --namespace=workload-operator-system --reset-then-reuse-values --kube-context=prod"},
	"no Service":     {func(_ *testing.T, s *seen) { s.live = nil }, "service-missing", "expose deployment workload-operator-controller-manager --name=workload-operator-webhook-service"},
	"no Deployment":  {func(_ *testing.T, s *seen) { s.deployment = nil }, "manager-missing", "make deploy IMG=REGISTRY/"},
	"scaled to zero": {func(_ *testing.T, s *seen) { s.deployment.Spec.Replicas = new(int32(0)) }, "manager-stopped", "--replicas=2"},
	"none ready":     {func(_ *testing.T, s *seen) { s.deployment.Status.ReadyReplicas = 0 }, "manager-not-ready", "describe pods"},
	"one ready":      {func(_ *testing.T, s *seen) { s.deployment.Status.ReadyReplicas = 1 }, "manager-degraded", "logs -l"},
	"older operator": {func(_ *testing.T, s *seen) { s.release = "v1.3.0" }, "version-skew", "set image deployment/workload-operator-controller-manager manager=registry.example.com:5000/workload-operator:v1.3.0"},
	"newer operator": {func(_ *testing.T, s *seen) { s.release = "v1.1.9" }, "version-skew", "make build VERSION=v1.2.0"},
	"no guard":       {func(_ *testing.T, s *seen) { s.guarded = false }, "guard-missing", "make deploy"},
	"unreachable":    {func(_ *testing.T, s *seen) { s.definitions[0].unreachable = errors.New("connection refused") }, "webhook-unreachable", "rollout restart"},
	"no permission": {func(_ *testing.T, s *seen) {
		s.denied = []deniedRole{{
			role: role{name: "webhook-certs-role", namespaced: true}, account: "ns/x-controller-manager", exists: true,
			denied: []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "secrets"}},
		}}
	}, "permission-missing", "kubectl --context=prod -n ns create rolebinding x-webhook-certs-rolebinding --role=x-webhook-certs-role --serviceaccount=ns:x-controller-manager"},
}

// serve puts another certificate everywhere.
func (s *seen) serve(p pair) {
	s.secret.Data = map[string][]byte{"tls.crt": p.certificate, "tls.key": p.key, "ca.crt": p.authority}
	for _, d := range s.definitions {
		d.stanza().CABundle = p.authority
	}
	for i := range s.validating.Webhooks {
		s.validating.Webhooks[i].ClientConfig.CABundle = p.authority
	}
	for i := range s.mutating.Webhooks {
		s.mutating.Webhooks[i].ClientConfig.CABundle = p.authority
	}
}

func (s *seen) annotate() {
	s.secret.Annotations = map[string]string{"cert-manager.io/certificate-name": "c"}
}

func TestBroken(t *testing.T) {
	if found := findingsOf(base(t)); len(found) > 0 {
		t.Fatalf("the base is not sound: %+v", found)
	}
	for name, c := range broken {
		t.Run(name, func(t *testing.T) {
			s := base(t)
			c.mutate(t, s)
			found := findingsOf(s)
			if len(found) != 1 || found[0].ID != c.want || !strings.Contains(found[0].Fix, c.fix) || found[0].Problem == "" || found[0].Object == "" {
				t.Errorf("want %s with %s, got %+v", c.want, c.fix, found)
			}
		})
	}
}

// TestQuietSteps: what belongs to a step is not wrong there.
func TestQuietSteps(t *testing.T) {
	for _, step := range config.Steps() {
		s := base(t)
		authority := s.secret.Data["ca.crt"]
		s.definitions = nil
		s.addDefinitions(t, step, authority)
		if found := findingsOf(s); len(found) > 0 {
			t.Errorf("%s: %+v", step, found)
		}
	}
}

// TestDocumented: the page has a row for each finding, and for nothing else.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{
		"cluster-version": true, "installer-permission": true, "step-refused": true, "definition-foreign": true, "second-installation": true,
		"certificate-untrusted": true,
	}
	for _, c := range broken {
		known[c.want] = true
	}
	for id := range known {
		if !strings.Contains(string(page), "| `"+id+"` |") {
			t.Errorf("the page does not have %s", id)
		}
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		if id, _, found := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); found && strings.HasPrefix(line, "| `") && !strings.Contains(id, " ") {
			rows++
			if !known[id] {
				t.Errorf("the page has %s, which nothing finds", id)
			}
		}
	}
	if rows < len(known) {
		t.Errorf("the page has %d rows, %d findings are known", rows, len(known))
	}
}

func TestRefusals(t *testing.T) {
	d := base(t).definitions[0]
	refused := `is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`
	d.plan = &migration.Report{Refused: 5, Refusals: []migration.Problem{
		{Namespace: "a", Name: "1", Reason: refused}, {Namespace: "a", Name: "2", Reason: refused},
		{Namespace: "a", Name: "3", Reason: refused}, {Namespace: "a", Name: "4", Reason: refused}, {Namespace: "a", Name: "5", Reason: "webhook says no"},
	}}
	d.bindings = map[string]binding{"b": {"p", []string{"Deny", "Audit"}}}
	found := refusals(commands, d)
	if len(found) != 2 || found[0].Object != "WebApp a/5" || found[1].Object != "WebApp a/1, a/2, a/3 and 1 more" {
		t.Fatalf("got %+v", found)
	}
	const patch = `kubectl --context=prod patch validatingadmissionpolicybinding b --type=merge -p '{"spec":{"validationActions":`
	want := "(restore() { CODE=$?; " + patch + `["Deny","Audit"]}}' || CODE=1; exit $CODE; }; trap restore EXIT; trap 'exit 130' INT TERM; ` +
		patch + `["Warn"]}}' && sleep 5 && workloadctl migrate run webapp --context=prod)`
	if diff := cmp.Diff(want, found[1].Fix); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := "cannot be migrated from v1alpha1 to v1: " + refused; !strings.HasPrefix(found[1].Problem, want) {
		t.Errorf("got %s", found[1].Problem)
	}
}

// A fix ends as the migration in it did, and puts the policy back in any case; without the command it fails, too.
func TestLenientRunFails(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"kubectl": "echo \"$@\" >> " + dir + "/said", "sleep": ":", "good": ":", "bad": "exit 3"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for tool, want := range map[string]int{"good": 0, "bad": 3, "absent": 127} {
		command := exec.CommandContext(t.Context(), "/bin/sh", "-c", lenientRun(Commands{Tool: tool}, base(t).definitions[0], map[string]binding{"b": {"p", []string{"Deny"}}}))
		command.Env = []string{"PATH=" + dir}
		_ = command.Run() // the code is looked at below
		said, err := os.ReadFile(filepath.Join(dir, "said"))
		if got := command.ProcessState.ExitCode(); got != want || err != nil || !strings.HasSuffix(string(said), `{"spec":{"validationActions":["Deny"]}}`+"\n") {
			t.Errorf("%s: code %d, %v, said\n%s", tool, got, err, said)
		}
	}
}

// All that deny have to let objects pass at once: the API server names one of them, and another one when that one only warns.
func TestDenying(t *testing.T) {
	deny, warn := []string{"Deny"}, []string{"Warn"}
	d := base(t).definitions[0]
	d.bindings = map[string]binding{"b1": {"p", deny}, "b2": {"p", deny}, "b3": {"p", warn}, "c": {"q", deny}, "other": {"r", deny}}
	refusal := func(name string) []migration.Problem {
		return []migration.Problem{{Reason: "ValidatingAdmissionPolicy 'x' with binding '" + name + "' denied request: no"}}
	}
	d.plan = &migration.Report{Refused: 1, Refusals: refusal("b1")}
	d.migration = &migration.Status{Record: &migration.Record{Refusals: append(refusal("c"), refusal("gone")...)}}
	got := slices.Sorted(maps.Keys(d.denying()))
	if diff := cmp.Diff([]string{"b1", "b2", "c"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Whoever interrupts a fix finds the policy as it was.
func TestLenientRunInterrupted(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{"kubectl": "echo \"$@\" >> " + dir + "/said", "sleep": "kill -INT 0; /bin/sleep 60"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	fix := lenientRun(Commands{Tool: "true"}, base(t).definitions[0], map[string]binding{"a": {"p", []string{"Deny"}}, "b": {"p", []string{"Deny", "Audit"}}})
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", fix)
	command.Env = []string{"PATH=" + dir}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does for what is typed
	failure := command.Run()
	said, err := os.ReadFile(filepath.Join(dir, "said"))
	if failure == nil || err != nil || strings.Count(string(said), "Warn") != 2 || strings.Count(string(said), "Deny") != 2 {
		t.Errorf("%v, %v, said\n%s", failure, err, said)
	}
}

// What is advised about a migration says from which version it leads to which. At R2 that is forward, unless going back has begun.
func TestPendingSaysWhere(t *testing.T) {
	const forward = "workloadctl crds --step R3 --apply --context=prod && workloadctl migrate run webapp --context=prod"
	for name, c := range map[string]struct {
		step    config.Step
		target  string
		record  *migration.Record
		problem string
		fix     string
	}{
		"forward":     {config.StepR3, "v1", nil, "objects may be stored in v1alpha1; a migration to v1 rewrites them", "workloadctl migrate run webapp --context=prod"},
		"back at R2":  {config.StepR2, "v1alpha1", nil, "take the next step, R3, and migrate to v1; or go back to v1alpha1 (workloadctl migrate rollback webapp --context=prod)", forward},
		"R2 after R3": {config.StepR2, "v1alpha1", &migration.Record{Target: "v1", Phase: migration.PhaseDone}, "take the next step, R3", forward},
		"a rollback":  {config.StepR2, "v1alpha1", &migration.Record{Target: "v1alpha1"}, "objects may be stored in v1; a migration to v1alpha1 rewrites them", "workloadctl migrate run webapp --context=prod"},
	} {
		t.Run(name, func(t *testing.T) {
			s := base(t)
			s.definitions = nil
			s.addDefinitions(t, c.step, s.secret.Data["ca.crt"])
			d := s.definitions[0]
			other := map[string]string{"v1": "v1alpha1", "v1alpha1": "v1"}[c.target]
			d.migration = &migration.Status{Target: c.target, Record: c.record, Pending: true, Reason: "objects may be stored in " + other + "; a migration to " + c.target + " rewrites them"}
			found := judgeMigrations(s, commands)
			if len(found) != 1 || found[0].Fix != c.fix || !strings.Contains(found[0].Problem, c.problem) {
				t.Errorf("got %+v", found)
			}
		})
	}
}

// A manager outside of the cluster needs no Deployment, and none is advised.
func TestOutside(t *testing.T) {
	s := base(t)
	s.deployment, s.outside = nil, "somebody holds the Lease"
	if found := findingsOf(s); len(found) > 0 || len(notes(s, found)) != 1 {
		t.Errorf("got %+v, %q", found, notes(s, found))
	}
	s.definitions[0].unreachable = errors.New("no answer")
	if found := findingsOf(s); len(found) != 1 || found[0].ID != "webhook-unreachable" || found[0].Fix != "make run" || len(notes(s, found)) != 2 {
		t.Errorf("got %+v, %q", found, notes(s, found))
	}
	s = base(t)
	s.deployment, s.live, s.secret, s.outside, s.url = nil, nil, nil, "x", "https://elsewhere/validate"
	if found := findingsOf(s); len(found) > 0 {
		t.Errorf("by URL: got %+v", found)
	}
	url := "https://elsewhere/validate"
	webhooks := map[string]admissionv1.WebhookClientConfig{"validate-v1.webapps.app.example.com": {URL: &url}, "a.example.net": {URL: new("https://other")}}
	if got := urlOf(webhooks); got != url {
		t.Errorf("got %q", got)
	}
}

func TestHolderOf(t *testing.T) {
	lease := func(mutate func(*coordinationv1.Lease)) *coordinationv1.Lease {
		l := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new("vm_1"), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: noon.Add(-10 * time.Second)},
		}}
		l.Name = "workload-operator.example.com"
		mutate(l)
		return l
	}
	for name, c := range map[string]struct {
		mutate func(*coordinationv1.Lease)
		want   string
	}{
		"live":          {func(*coordinationv1.Lease) {}, "vm_1"},
		"abandoned":     {func(l *coordinationv1.Lease) { l.Spec.RenewTime = &metav1.MicroTime{Time: noon.Add(-20 * time.Second)} }, ""},
		"given back":    {func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") }, ""},
		"never held":    {func(l *coordinationv1.Lease) { l.Spec = coordinationv1.LeaseSpec{} }, ""},
		"somebody else": {func(l *coordinationv1.Lease) { l.Name = "other" }, ""},
	} {
		if got := holderOf(lease(c.mutate), noon); got != c.want {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

func TestExplained(t *testing.T) {
	s := base(t)
	s.secret = nil
	s.definitions[0].unreachable = errors.New("x509: expired")
	if found := findingsOf(s); len(found) != 1 {
		t.Errorf("a consequence is a finding of its own: %+v", found)
	}
}

func TestClusterAge(t *testing.T) {
	for text, want := range map[string]int{"v1.31.9": 1, "v1.32.0": 0, "v1.37.2-eks-1": 0} {
		if got := clusterAge(version.MustParseGeneric(text), commands); len(got) != want {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

// TestRoles: the roles that are asked for are those that are shipped.
func TestRoles(t *testing.T) {
	var want strings.Builder
	for _, name := range []string{"role.yaml", "leader_election_role.yaml", "webhook_certs_role.yaml", "metrics_auth_role.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../../../config/rbac", name))
		if err != nil {
			t.Fatal(err)
		}
		want.WriteString("---\n")
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") && line != "---\n" {
				want.WriteString(line)
			}
		}
	}
	if diff := cmp.Diff(want.String(), string(rolesFile)); diff != "" {
		if !*update {
			t.Errorf("roles.yaml is out of date: run go test ./cmd/workloadctl/internal/checkup -run TestRoles -update (-want +got):\n%s", diff)
		} else if err := os.WriteFile("roles.yaml", []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	roles, err := operatorRoles()
	if err != nil || len(roles) != 4 {
		t.Fatalf("%d roles, %v", len(roles), err)
	}
	s := base(t)
	for _, r := range roles {
		for _, a := range r.accesses(s) {
			if a.Resource == "validatingwebhookconfigurations" && a.Name != s.validating.Name || r.namespaced != (a.Namespace != "") {
				t.Errorf("%s: %+v", r.name, a)
			}
		}
	}
}

func TestWords(t *testing.T) {
	if got, want := Words([]string{"a-b=c", "d e", "it's", ""}), `a-b=c 'd e' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
