package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/example/workload-operator/test/controlplane"
)

// jargon is what libraries say, and users should not have to read.
var jargon = regexp.MustCompile(`dial tcp|no matches for|could not find the requested|x509:|context (canceled|deadline)|invalid configuration|Get "|\bstat |\bE\d{4}\b|\.go:`)

// oneWord fails unless a command said in one line, on stderr alone, why it could not work.
func oneWord(t *testing.T, what string, got outcome, want string) {
	t.Helper()
	if got.code != exitUsage || got.stdout != "" {
		t.Errorf("%s: code %d, stdout %q", what, got.code, got.stdout)
	}
	if !strings.HasPrefix(got.stderr, "Error: ") || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, want) || jargon.MatchString(got.stderr) {
		t.Errorf("%s: want one line with %q, got\n%s", what, want, got.stderr)
	}
}

// TestClusterVerbsAreAll: whatever takes a kubeconfig is in the list that the tests below go through.
func TestClusterVerbsAreAll(t *testing.T) {
	listed := map[*cobra.Command]bool{}
	root := newRootCommand("workloadctl")
	for _, args := range clusterVerbs {
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		listed[cmd] = true
	}
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Flags().Lookup("kubeconfig") != nil && !listed[cmd] {
			t.Errorf("%s is not in clusterVerbs", cmd.CommandPath())
		}
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// kubeconfig writes one for a server, with further settings of the cluster.
func kubeconfigFor(t *testing.T, server, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	text := "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: t}}], " +
		"clusters: [{name: c, cluster: {server: '" + server + "'" + more + "}}]}"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestNoConnection: no kubeconfig, one that leads nowhere, and an API server that is not there.
func TestNoConnection(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	for _, name := range []string{"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"} {
		t.Setenv(name, "")
	}
	closed := kubeconfigFor(t, "https://127.0.0.1:1", "")
	broken, aimless := closed+".broken", closed+".aimless"
	for file, text := range map[string]string{broken: "a: [", aimless: "{apiVersion: v1, kind: Config}"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{nil, "there is no kubeconfig "},
		{[]string{"--kubeconfig", closed + ".gone"}, "there is no kubeconfig " + closed + ".gone; give one with --kubeconfig or KUBECONFIG"},
		{[]string{"--kubeconfig", broken}, "no cluster to work on: " + broken + ": "},
		{[]string{"--kubeconfig", aimless}, "has no current context; choose one with --context"},
		{[]string{"--kubeconfig", closed, "--context=other"}, `there is no context "other" in ` + closed + "; kubectl config get-contexts lists them"},
		{[]string{"--kubeconfig", closed, "--cluster=other"}, "kubectl config view shows what it has"},
		{[]string{"--kubeconfig", closed, "--user=other"}, "kubectl config view shows what it has"},
		{[]string{"--kubeconfig", closed}, `the API server at https://127.0.0.1:1 (context "c") does not answer: the connection is refused; check that the cluster is up`},
	} {
		for _, args := range clusterVerbs {
			oneWord(t, fmt.Sprint(args, c.flags), runWith("", append(slices.Clone(args), c.flags...)...), c.want)
		}
	}
}

// status is an answer of an API server that is about the request.
func status(code int, reason, message string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":%d}`, reason, message, code)
	})
}

// TestAnswers: an API server that does not know the user, or cannot do it, or is not who it should be.
func TestAnswers(t *testing.T) {
	const denied = `webapps.app.example.com is forbidden: User "jane" cannot list resource "webapps" in API group "app.example.com"`
	const whole = `forbidden: User "system:anonymous" cannot get path "/api"`
	const unconverted = `conversion webhook for app.example.com/v1alpha1, Kind=WebApp failed: Post "https://x.y.svc:443/convert": dial tcp 10.0.0.1:443: connect: connection refused`
	direct := [][]string{{"migrate", "status"}, {"diff", "-f", "testdata/check-nothing/input.yaml"}}
	all := append([][]string{{"status"}, {"rollout", "history", "ps/x"}}, direct...) // the first two ask first what there is
	for name, c := range map[string]struct {
		answer http.Handler
		verbs  [][]string
		want   string
	}{
		"unauthorized": {status(401, "Unauthorized", "Unauthorized"), all, "does not accept the credentials: log in again, or choose others with --context or --user"},
		"forbidden":    {status(403, "Forbidden", denied), direct, `not permitted: User "jane" cannot list resource "webapps" in API group "app.example.com"; an administrator has to allow it`},
		"may not ask":  {status(403, "Forbidden", whole), all, `not permitted: `},
		"no words":     {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }), append(all, []string{"check"}, []string{"crds", "--step", "R3", "--apply"}), "not permitted: the API server at https://127.0.0.1:"},
		"unconverted":  {status(500, "InternalError", unconverted), direct, "the operator does not answer the API server: connection refused; workloadctl check --kubeconfig="},
		"not now":      {status(503, "ServiceUnavailable", "starting"), all, "cannot do it now: "},
		"no such path": {http.NotFoundHandler(), all, "there are no WebApps and PodSets of version v1 in the cluster at https://127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(c.answer)
			defer server.Close()
			file := kubeconfigFor(t, server.URL, ", insecure-skip-tls-verify: true")
			for _, args := range c.verbs {
				oneWord(t, fmt.Sprint(args), runWith("", append(args, "--kubeconfig", file)...), c.want)
			}
		})
	}
}

func TestCertificateOfTheServer(t *testing.T) {
	stranger := httptest.NewTLSServer(http.NotFoundHandler())
	defer stranger.Close()
	expired, authority := expiredServer(t)
	for want, file := range map[string]string{
		"its certificate is by an authority that the kubeconfig does not trust":           kubeconfigFor(t, stranger.URL, ""),
		"its certificate is valid from 2020-01-01T00:00:00Z to 2021-01-01T00:00:00Z only": kubeconfigFor(t, expired, ", certificate-authority-data: "+authority),
	} {
		for _, args := range [][]string{{"check"}, {"status"}, {"migrate", "run"}} {
			oneWord(t, fmt.Sprint(args), runWith("", append(args, "--kubeconfig", file)...), want)
		}
	}
}

// expiredServer serves a certificate that nobody renewed, and returns the authority for it.
func expiredServer(t *testing.T) (url, authority string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// TestWithoutDefinitions: a cluster that has never had the operator.
func TestWithoutDefinitions(t *testing.T) {
	plane := controlplane.Attach(t)
	for _, args := range clusterVerbs {
		if slices.Contains([]string{"check", "crds", "uninstall"}, args[0]) {
			continue // to work without definitions is what they are for
		}
		got := runWith("", append(slices.Clone(args), "--kubeconfig", plane.Kubeconfig())...)
		oneWord(t, fmt.Sprint(args), got, "run workloadctl crds --step R3 --apply --kubeconfig="+plane.Kubeconfig()+", or install the operator")
	}
}

// TestAnonymous: a context without a user, whom the API server does not even tell which APIs it has.
func TestAnonymous(t *testing.T) {
	config, err := clientcmd.LoadFromFile(controlplane.Attach(t).Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range config.Contexts {
		c.AuthInfo = ""
	}
	file := filepath.Join(t.TempDir(), "anonymous")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	for _, args := range clusterVerbs {
		oneWord(t, fmt.Sprint(args), runWith("", append(slices.Clone(args), "--kubeconfig", file)...), "not permitted: ")
	}
}

// TestExplain: what is about an object is said beside a fault, which is said once.
func TestExplain(t *testing.T) {
	o := &clusterOptions{kubeconfig: filepath.Join(t.TempDir(), "none")}
	fault, other := connectionError{errors.New("x")}, errors.New("web: no such field")
	err := o.explain(unreachable(errors.Join(fault, other, fmt.Errorf("again: %w", fault))), "workloadctl")
	if lines := errorLines(err); len(lines) != 2 || lines[1] != other.Error() || exitCode(err) != exitUsage {
		t.Errorf("got %q, code %d", lines, exitCode(err))
	}
	for _, plain := range []error{nil, errFindings, other, errors.Join(other, other), unreachable(other)} {
		if got := o.explain(plain, "workloadctl"); !errors.Is(got, plain) {
			t.Errorf("%v became %v", plain, got)
		}
	}
}

// TestCallable: a printed command begins with what the user can type.
func TestCallable(t *testing.T) {
	elsewhere, found := t.TempDir(), t.TempDir()
	for _, dir := range []string{elsewhere, found} {
		for _, name := range []string{"workloadctl", pluginName, "my tool"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("PATH", found)
	for binary, want := range map[string]string{
		"workloadctl":                   "workloadctl",
		pluginName:                      "kubectl workload",
		found + "/workloadctl":          "workloadctl",
		found + "/" + pluginName:        "kubectl workload",
		elsewhere + "/workloadctl":      elsewhere + "/workloadctl",
		elsewhere + "/" + pluginName:    elsewhere + "/" + pluginName,
		elsewhere + "/my tool":          "'" + elsewhere + "/my tool'",
		elsewhere + "/gone/workloadctl": elsewhere + "/gone/workloadctl",
	} {
		if got := callable(binary); got != want {
			t.Errorf("%s: got %s, want %s", binary, got, want)
		}
	}
}

// TestWaitsWithoutJargon: what is said while waiting is no other than what is said at the end.
func TestWaitsWithoutJargon(t *testing.T) {
	got := runWith("", "check", "--wait=1500ms", "--kubeconfig", kubeconfigFor(t, "https://127.0.0.1:1", ""))
	if got.code != exitUsage || !strings.HasPrefix(got.stderr, "Waiting for the cluster: the API server at https://127.0.0.1:1 ") || jargon.MatchString(got.stderr) {
		t.Errorf("got %+v", got)
	}
}
