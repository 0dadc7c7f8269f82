package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
	"github.com/example/workload-operator/config"
)

// M-09: what is printed for a step are the definitions of that step, in documents without a status.
func TestCRDsPrints(t *testing.T) {
	for _, step := range config.Steps() {
		t.Run(string(step), func(t *testing.T) {
			want, err := config.CRDsAt(step)
			if err != nil {
				t.Fatal(err)
			}
			got := runWith("", "crds", "--step", string(step))
			if got.code != exitOK || got.stderr != "" {
				t.Fatalf("exit code %d, stderr %s", got.code, got.stderr)
			}
			var printed []*apiextensionsv1.CustomResourceDefinition
			for document := range strings.SplitSeq(got.stdout, "\n---\n") {
				crd := &apiextensionsv1.CustomResourceDefinition{}
				if err := yaml.UnmarshalStrict([]byte(document), crd); err != nil {
					t.Fatal(err)
				}
				printed = append(printed, crd)
			}
			if diff := cmp.Diff(want, printed); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got.stdout, "\nstatus:") {
				t.Error("a status is printed")
			}
			asJSON := runWith("", "crds", "--step", string(step), "-o", "json")
			decoder := json.NewDecoder(bytes.NewReader([]byte(asJSON.stdout)))
			count := 0
			for {
				crd := &apiextensionsv1.CustomResourceDefinition{}
				err := decoder.Decode(crd)
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want[count], crd); diff != "" {
					t.Errorf("as JSON (-want +got):\n%s", diff)
				}
				count++
			}
		})
	}
}

func TestCRDsNamesService(t *testing.T) {
	got := runWith("", "crds", "--step", "R3", "--webhook-service", "elsewhere/team-webhook-service")
	for _, want := range []string{"name: team-webhook-service", "namespace: elsewhere", "port: 443", "path: /convert"} {
		if strings.Count(got.stdout, want) != 2 {
			t.Errorf("%q is there %d times, want 2", want, strings.Count(got.stdout, want))
		}
	}
}

func TestCRDsUsage(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no step":      {nil, "say with --step which step: R1, R2, R3, R4 or R5"},
		"unknown step": {[]string{"--step", "R6"}, `--step: no step "R6": use one of R1, R2, R3, R4, R5`},
		"format":       {[]string{"--step", "R3", "-o", "xml"}, `-o "xml": use yaml or json`},
		"no namespace": {[]string{"--step", "R3", "--webhook-service", "x"}, `--webhook-service "x": use NAMESPACE/NAME or NAMESPACE/NAME:PORT`},
		"no port":      {[]string{"--step", "R3", "--webhook-service", "a/b:c"}, `--webhook-service "a/b:c": use NAMESPACE/NAME or NAMESPACE/NAME:PORT`},
		"port 0":       {[]string{"--step", "R3", "--webhook-service", "a/b:0"}, `--webhook-service "a/b:0": use NAMESPACE/NAME or NAMESPACE/NAME:PORT`},
		"argument":     {[]string{"R3"}, `workloadctl crds takes no arguments, got "R3"`},
	} {
		t.Run(name, func(t *testing.T) {
			got := runWith("", append([]string{"crds"}, c.args...)...)
			want := outcome{code: exitUsage, stderr: "Error: " + c.want + " (see workloadctl crds --help)\n"}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCRDsWithoutCluster(t *testing.T) {
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	t.Setenv("HOME", t.TempDir())
	got := runWith("", "crds", "--step", "R3", "--apply")
	if got.code != exitUsage || !strings.Contains(got.stderr, "give one with --kubeconfig or KUBECONFIG") || strings.Count(got.stderr, "\n") != 1 {
		t.Errorf("exit code %d, stderr %q", got.code, got.stderr)
	}
}

// TestNextStep: advice after a step says in which direction a migration goes.
func TestNextStep(t *testing.T) {
	taker := &stepTaker{commands: checkup.Commands{Tool: "kubectl workload", Flags: []string{"--context=prod"}}}
	for _, c := range []struct {
		step  config.Step
		mixed bool
		want  string
	}{
		{config.StepR1, false, ""},
		{config.StepR2, false, ""},
		{config.StepR2, true, "kubectl workload crds --step R3 --apply --context=prod to go on, or kubectl workload migrate run --context=prod to go back (rewrites in v1alpha1 what is stored in v1)"},
		{config.StepR3, true, "kubectl workload migrate run --context=prod (rewrites in v1 what is stored in v1alpha1)"},
		{config.StepR3, false, ""},
		{config.StepR4, false, "kubectl workload migrate run --context=prod (translates what clients of v1alpha1 left in metadata.managedFields to v1)"},
		{config.StepR5, false, ""},
	} {
		if got := taker.next(c.step, c.mixed); got != c.want {
			t.Errorf("%s, mixed %t: got %s", c.step, c.mixed, got)
		}
	}
}
