package main

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	exit := exec.Command("sh", "-c", "exit 1").Run()
	cases := map[string]struct {
		reason string
		step   step
		output string
		err    error
		want   string // part of the error; empty means none
	}{
		"AsExpected":     {"what was wanted came", step{wants: []string{"a", "b"}}, "b a", nil, ""},
		"Lacks":          {"a wanted text is missing", step{wants: []string{"a", "b"}}, "a", nil, `lacks "b"`},
		"Failed":         {"a command that must work failed", step{}, "", exit, "kubectl failed"},
		"Refused":        {"a refusal that was wanted", step{refuse: true, wants: []string{"spec.port"}}, "spec.port: bad", exit, ""},
		"WronglyRefused": {"a refusal for another reason", step{refuse: true, wants: []string{"spec.port"}}, "no such host", exit, "lacks"},
		"Accepted":       {"a bad spec came through", step{refuse: true}, "created", nil, "was accepted"},
		"NotRun":         {"kubectl could not be run at all", step{refuse: true}, "", errors.New("no such file"), "no such file"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.step.judge([]byte(tc.output), tc.err)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("%s: %v", tc.reason, err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("%s: got %v, want an error with %q", tc.reason, err, tc.want)
			}
		})
	}
}

// TestShowReportsEveryStep runs the tour with a kubectl that does nothing: each step must be told apart from success.
func TestShowReportsEveryStep(t *testing.T) {
	var out bytes.Buffer
	idle := func(ctx context.Context, _ ...string) *exec.Cmd { return exec.CommandContext(ctx, "true") }
	err := show(t.Context(), idle, t.TempDir(), &out)
	if err == nil || strings.Count(err.Error(), "step ") != len(tour) {
		t.Errorf("got %v, want an error for each of %d steps", err, len(tour))
	}
}
