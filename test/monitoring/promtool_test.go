package monitoring

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var withPromtool = flag.Bool("promtool", false, "play the alerts with promtool, as make verify does; building it takes minutes the first time")

// TestScenarios: there is a scenario for each alert, over metrics that exist.
func TestScenarios(t *testing.T) {
	var want, got []string
	all, _ := rules(t)
	for _, r := range all {
		if r.Alert != "" {
			want = append(want, r.Alert)
		}
	}
	known := vocabularyOf(t)
	known["up"] = []string{"x"}
	for _, s := range scenarios {
		got = append(got, s.alert)
		if len(s.fires) == 0 || len(s.silent) == 0 {
			t.Errorf("%s has only one side", s.alert)
		}
		for name := range maps.Keys(s.fires) {
			for _, mistake := range known.mistakes(name) {
				t.Errorf("%s: %s", s.alert, mistake)
			}
		}
	}
	if !slices.Equal(want, got) {
		t.Errorf("scenarios for %v, and the alerts are %v", got, want)
	}
}

// TestAlertsFire plays the scenarios.
func TestAlertsFire(t *testing.T) {
	if !*withPromtool {
		t.Logf("the %d scenarios are not played: go test ./test/monitoring -args -promtool, or make verify, does it", len(scenarios))
		return
	}
	folder := t.TempDir()
	_, spec := rules(t)
	write(t, filepath.Join(folder, "rules.yaml"), spec)
	groups := make([]any, 0, 2*len(scenarios))
	for _, s := range scenarios {
		groups = append(groups, s.group(s.fires, 1), s.group(s.silent, 0))
	}
	write(t, filepath.Join(folder, "scenarios.yaml"), map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "1m", "tests": groups})
	promtool(t, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(folder, "rules.yaml"))
	promtool(t, "test", "rules", filepath.Join(folder, "scenarios.yaml"))
}

// group is a test of promtool that expects so many of the alert.
func (s *scenario) group(of series, firing int) map[string]any {
	const target = `namespace="n",job="j",instance="i"`
	if !s.alone {
		of = maps.Clone(of)
		of["workload_operator_build_info{}"] = always
	}
	var input []any
	for _, name := range slices.Sorted(maps.Keys(of)) {
		labelled := strings.Replace(strings.Replace(name, "{", "{"+target+",", 1), ",}", "}", 1)
		input = append(input, map[string]any{"series": labelled, "values": of[name]})
	}
	return map[string]any{
		"name": fmt.Sprintf("%s, firing %d", s.alert, firing), "interval": "1m", "input_series": input,
		"promql_expr_test": []any{map[string]any{
			"expr":        fmt.Sprintf(`count(ALERTS{alertname=%q, alertstate="firing"}) or vector(0)`, s.alert),
			"eval_time":   s.at,
			"exp_samples": []any{map[string]any{"labels": "{}", "value": firing}},
		}},
	}
}

func write(t *testing.T, path string, content any) {
	t.Helper()
	raw, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// promtool runs without the service discovery of clouds, which is most of what would have to be compiled.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=tools/promtool/go.mod", "promtool"}, args...)...)
	command.Dir = root
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -tags=remove_all_sd"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("promtool %s: %v\n%s", args[0], err, out)
	}
}
