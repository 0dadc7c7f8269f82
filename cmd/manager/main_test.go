package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever is wrong with the command line or its surroundings is said in one line, the last, that says what to do.
func TestExecuteRefuses(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "")
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	occupied := taken.Addr().String()
	_, occupiedPort, _ := net.SplitHostPort(occupied)
	unreachable := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],` +
		`"contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],"current-context":"a","users":[{"name":"a","user":{}}]}`
	if err := os.WriteFile(unreachable, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	ports := []string{"--namespace=ops", "--health-probe-bind-address=127.0.0.1:0", "--webhook-port=0"}

	tests := map[string]struct {
		args []string
		code int
		want string
	}{
		"UnknownFlag":      {[]string{"--nope"}, exitUsage, "not defined: -nope; manager --help lists the flags"},
		"Argument":         {[]string{"--namespace=ops", "serve"}, exitUsage, `unexpected argument "serve"`},
		"NoNamespace":      {nil, exitUsage, "give --namespace or set POD_NAMESPACE"},
		"TwoMistakes":      {[]string{"--namespace=ops", "--webhook-port=-1", "--concurrency=0"}, exitUsage, "--webhook-port -1 is not between 0 and 65535; --concurrency 0 is less than 1"},
		"Duration":         {[]string{"--shutdown-delay=soon"}, exitUsage, `invalid value "soon" for flag -shutdown-delay`},
		"TLSVersion":       {[]string{"--namespace=ops", "--tls-min-version=1.1"}, exitUsage, "neither 1.2 nor 1.3"},
		"Address":          {[]string{"--namespace=ops", "--metrics-bind-address=8443"}, exitUsage, `"8443" is not host:port`},
		"ShardAlone":       {[]string{"--namespace=ops", "--shard=a", "--leader-elect"}, exitUsage, "--shard needs --namespaces"},
		"NoShard":          {[]string{"--namespace=ops", "--namespaces=a,b", "--leader-elect"}, exitUsage, "--namespaces needs --shard"},
		"ShardNoLease":     {[]string{"--namespace=ops", "--shard=a", "--namespaces=a"}, exitUsage, "need --leader-elect"},
		"ExceptNoLease":    {[]string{"--namespace=ops", "--except-namespaces=a"}, exitUsage, "need --leader-elect"},
		"BothLists":        {[]string{"--namespace=ops", "--shard=a", "--namespaces=a", "--except-namespaces=b", "--leader-elect"}, exitUsage, "exclude each other"},
		"ShardName":        {[]string{"--namespace=ops", "--shard=A/b", "--namespaces=a", "--leader-elect"}, exitUsage, `--shard "A/b" is not`},
		"NamespaceName":    {[]string{"--namespace=ops", "--shard=a", "--namespaces=a,B", "--leader-elect"}, exitUsage, `"B" is not the name of a namespace`},
		"EmptyNamespaces":  {[]string{"--namespace=ops", "--shard=a", "--namespaces=,", "--leader-elect"}, exitUsage, "names no namespace"},
		"NoWebhooks":       {[]string{"--namespace=ops", "--webhooks=false"}, exitUsage, "--webhooks=false is for shards"},
		"LogLevel":         {[]string{"--zap-log-level=loud"}, exitUsage, "-zap-log-level"},
		"NoKubeconfig":     {append(ports, "--kubeconfig=/nowhere/at/all"), exitFailure, "give --kubeconfig or run in a Pod"},
		"Unreachable":      {append(ports, "--kubeconfig="+unreachable), exitFailure, "cannot reach the API server at https://127.0.0.1:1"},
		"OccupiedProbes":   {[]string{"--namespace=ops", "--health-probe-bind-address=" + occupied}, exitFailure, "choose with --health-probe-bind-address"},
		"OccupiedWebhooks": {[]string{"--namespace=ops", "--health-probe-bind-address=127.0.0.1:0", "--webhook-bind-address=127.0.0.1", "--webhook-port=" + occupiedPort}, exitFailure, "choose with --webhook-port"},
		"OccupiedMetrics":  {append(ports, "--metrics-bind-address="+occupied), exitFailure, "cannot listen for metrics on " + occupied},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := execute(t.Context(), tc.args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			lines := strings.Split(strings.TrimSuffix(stderr.String(), "\n"), "\n")
			last := lines[len(lines)-1]
			if !strings.HasPrefix(last, "manager: ") || !strings.Contains(last, tc.want) {
				t.Errorf("last line %q, want %q in it", last, tc.want)
			}
			if code == exitUsage && len(lines) != 1 {
				t.Errorf("%d lines, want one:\n%s", len(lines), stderr.String())
			}
			if stdout.Len() > 0 {
				t.Errorf("stdout: %s", stdout.String())
			}
		})
	}
}

// Without a cluster there is one line that says what to do, and no stack: a word for whoever types the command, a record if JSON was
// asked for.
func TestNoCluster(t *testing.T) {
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	const want = "no connection to a cluster is configured: give --kubeconfig or run in a Pod with a service account"
	args := []string{"--namespace=ops", "--health-probe-bind-address=127.0.0.1:0", "--webhook-port=0", "--metrics-bind-address=0"}
	for more, last := range map[string]string{
		"--zap-encoder=console": "manager: " + want, "--kube-api-qps=5": "manager: " + want,
		"--zap-encoder=json": `"level":"error",`,
	} {
		var stdout, stderr bytes.Buffer
		code := execute(t.Context(), append(args, more), &stdout, &stderr)
		said := strings.TrimSuffix(stderr.String(), "\n")
		end := said[strings.LastIndex(said, "\n")+1:]
		if code != exitFailure || !strings.Contains(end, last) || !strings.Contains(end, want) || strings.Contains(said, ".go:") {
			t.Errorf("%s: code %d, want %s at the end of\n%s", more, code, last, said)
		}
	}
}

func TestExecuteInforms(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := execute(t.Context(), []string{"--version"}, &stdout, &stderr); code != exitOK || stdout.String() != version()+"\n" {
		t.Errorf("--version: code %d, stdout %q", code, stdout.String())
	}
	stdout.Reset()
	if code := execute(t.Context(), []string{"--help"}, &stdout, &stderr); code != exitOK || !strings.Contains(stdout.String(), "-shutdown-delay") {
		t.Errorf("--help: code %d, stdout %q", code, stdout.String())
	}
	if stderr.Len() > 0 {
		t.Errorf("stderr: %s", stderr.String())
	}
}

func TestParseCompletes(t *testing.T) {
	file := func(string) ([]byte, error) { return []byte("from-file\n"), nil }
	noFile := func(string) ([]byte, error) { return nil, os.ErrNotExist }
	environment := func(string) string { return "from-env" }
	empty := func(string) string { return "" }
	tests := map[string]struct {
		reason   string
		args     []string
		getenv   func(string) string
		readFile func(string) ([]byte, error)
		want     string
	}{
		"Flag":        {"the flag wins", []string{"--namespace=from-flag"}, environment, file, "from-flag workload-operator-"},
		"Environment": {"then the environment", nil, environment, file, "from-env workload-operator-"},
		"File":        {"then the service account", nil, empty, file, "from-file workload-operator-"},
		"Elsewhere":   {"O-08: another prefix", []string{"--webhook-service=blue-workload-operator-webhook-service"}, environment, noFile, "from-env blue-workload-operator-"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			o, err := parse(tc.args, tc.getenv, tc.readFile)
			if err != nil {
				t.Fatal(err)
			}
			prefix := strings.TrimSuffix(o.validatingConfiguration, "validating-webhook-configuration")
			if got := fmt.Sprintf("%s %s", o.namespace, prefix); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
			if o.mutatingConfiguration != prefix+"mutating-webhook-configuration" {
				t.Errorf("mutating configuration %q", o.mutatingConfiguration)
			}
		})
	}
}
