package pages

import "regexp"

// notTyped are commands that no test types in this form.
var notTyped = []*regexp.Regexp{
	// What runs the tests, and what only developers type. test/documents holds their targets, packages, tests and flags to the code.
	regexp.MustCompile(`^make (run|test|help|build)\b`),
	regexp.MustCompile(`^go (test|run) `),
	// A registry is needed.
	regexp.MustCompile(`^make image .*PUSH=true`),
	// A kubelet is needed, which connects to a container. test/e2e asks the same port in the same way.
	regexp.MustCompile(`port-forward|^curl .*127\.0\.0\.1:8443`),
	// For another repository than this one.
	regexp.MustCompile(`^kubeconform `),
}

// Typed are the commands of the page that a test types.
func (p Page) Typed() []Command {
	var typed []Command
	for _, command := range p.Commands() {
		if !untyped(command.Line) {
			typed = append(typed, command)
		}
	}
	return typed
}

func untyped(line string) bool {
	for _, pattern := range notTyped {
		if pattern.MatchString(line) {
			return true
		}
	}
	return false
}
