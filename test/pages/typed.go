package pages

import "regexp"

// notTyped are commands that no test types in this form, whole, each with the reason.
var notTyped = map[string]*regexp.Regexp{
	"runs the tests, or is what runs before them":                regexp.MustCompile(`^make (run|build|help|test( PKG=\S+)?)$`),
	"test/documents holds packages, tests and flags to the code": regexp.MustCompile(`^go test `),
	"test/controlplane and cmd/plane start one":                  regexp.MustCompile(`^go run \./cmd/plane up$`),
	"needs a registry":                        regexp.MustCompile(`^make image IMG=registry\.example/workload-operator:v1 PUSH=true$`),
	"needs the database at vuln.go.dev":       regexp.MustCompile(`^make audit$`),
	"is for another repository than this one": regexp.MustCompile(`^kubeconform -strict -summary -schema-location default -schema-location 'schemas/`),
	"needs a kubelet, which connects to a container; TestMetrics asks the same port in the same way": regexp.MustCompile(
		`^kubectl -n workload-operator-system port-forward deploy/workload-operator-controller-manager 8443 &$|^curl -sk -H .* https://127\.0\.0\.1:8443/metrics \| grep `),
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
