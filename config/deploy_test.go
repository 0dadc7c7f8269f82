package config_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestDeployWantsAnImage: make deploy applies no placeholder. Neither kustomize nor kubectl is called by this test: they are false.
func TestDeployWantsAnImage(t *testing.T) {
	const refusal = "say which image"
	for name, c := range map[string]struct {
		args    []string
		refused bool
	}{
		"no image":             {nil, true},
		"as printed by check":  {[]string{"IMG=REGISTRY/workload-operator:TAG"}, true},
		"the default, by name": {[]string{"IMG=workload-operator:dev"}, false},
	} {
		command := exec.CommandContext(t.Context(), "make", append([]string{"--no-print-directory", "-C", "..", "deploy", "KUSTOMIZE=false", "KUBECTL=false"}, c.args...)...)
		// What a make that runs the tests was given is not for this one.
		command.Env = slices.DeleteFunc(command.Environ(), func(v string) bool { return strings.HasPrefix(v, "IMG=") || strings.HasPrefix(v, "MAKE") })
		out, err := command.CombinedOutput()
		if err == nil || strings.Contains(string(out), refusal) != c.refused {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
