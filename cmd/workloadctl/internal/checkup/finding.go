package checkup

import (
	"regexp"
	"strings"
)

// Severity says how much a finding matters.
type Severity string

// Severities.
const (
	// Error is something that does not work now.
	Error Severity = "error"
	// Warning is something that works, and will not for long, or not in every case.
	Warning Severity = "warning"
)

// Finding is one thing that is wrong.
type Finding struct {
	// ID names the check, and the row of docs/troubleshooting.md.
	ID       string   `json:"id"`
	Severity Severity `json:"severity"`
	// Object is kind and name.
	Object string `json:"object"`
	// Problem is one line.
	Problem string `json:"problem"`
	// Fix is a command line for a POSIX shell.
	Fix string `json:"fix"`
}

// Definition is how a CustomResourceDefinition stands.
type Definition struct {
	Name string `json:"name"`
	// Step is R1 to R5, empty for a definition that is at none.
	Step           string   `json:"step,omitempty"`
	Storage        string   `json:"storage,omitempty"`
	StoredVersions []string `json:"storedVersions,omitempty"`
}

// Report is the result of a look.
type Report struct {
	Definitions []Definition `json:"definitions"`
	Findings    []Finding    `json:"findings"`
	// Notes are worth knowing, and nothing is wrong with them.
	Notes []string `json:"notes,omitempty"`
	// Unseen is what could not be looked at, and why, for example for want of a permission.
	Unseen []string `json:"unseen,omitempty"`
}

// Commands writes the commands of fixes.
type Commands struct {
	// Tool is how the user calls this command line.
	Tool string
	// Flags choose the cluster; they are put into every command.
	Flags []string
}

func (c Commands) kubectl(args ...string) string {
	return Words(append(append([]string{"kubectl"}, c.Flags...), args...))
}

// helm knows the cluster by other names of the same flags; a cluster or user of its own it does not take.
func (c Commands) helm(args ...string) string {
	for _, flag := range c.Flags {
		args = append(args, strings.Replace(flag, "--context", "--kube-context", 1))
	}
	return Words(append([]string{"helm"}, args...))
}

// make runs a target of the Makefile, which calls kubectl.
func (c Commands) make(args ...string) string {
	if len(c.Flags) > 0 {
		args = append(args, "KUBECTL="+c.kubectl())
	}
	return Words(append([]string{"make"}, args...))
}

// Call is a command of this command line.
func (c Commands) Call(args ...string) string {
	return c.Tool + " " + Words(append(args, c.Flags...))
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Words writes arguments so that a shell reads them as they are.
func Words(args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = arg
		if !plainWord.MatchString(arg) {
			quoted[i] = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
