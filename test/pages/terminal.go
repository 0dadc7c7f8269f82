package pages

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/example/workload-operator/test/controlplane"
)

// Terminal is where the commands of a page are typed: in the root of the repository, with bin and the plane's kubectl in PATH.
type Terminal struct {
	Plane *controlplane.Plane
	// Namespace is that of kubectl, as a context may have one; empty means default.
	Namespace string
}

// Type runs a line of shell, and returns what it printed to standard output and to standard error.
func (x Terminal) Type(ctx context.Context, line string) (stdout, stderr string, err error) {
	root, err := controlplane.FindRoot()
	if err != nil {
		return "", "", err
	}
	if x.Namespace != "" {
		// A plugin takes no flags before its name.
		line = `kubectl() { [ "$1" = workload ] || set -- --namespace "$NAMESPACE" "$@"; command kubectl "$@"; }; ` + line
	}
	command := exec.CommandContext(ctx, "bash", "-c", line)
	command.Dir = root
	path := filepath.Join(root, "bin") + ":" + filepath.Dir(x.Plane.Kubectl()) + ":" + os.Getenv("PATH")
	command.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+x.Plane.Kubeconfig(), "NAMESPACE="+x.Namespace,
		// What kubectl remembers of a cluster is kept by its address, which another plane may have had before.
		"KUBECACHEDIR="+filepath.Join(x.Plane.Scratch(), "kubectl"))
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	err = command.Run()
	return out.String(), problems.String(), err
}
