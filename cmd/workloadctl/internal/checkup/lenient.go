package checkup

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/example/workload-operator/controllers/migration"
)

// binding is what a binding of a ValidatingAdmissionPolicy does.
type binding struct {
	policy  string
	actions []string
}

// refusedBy finds the binding in the words of the API server, which names one even if several deny.
var refusedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']+' with binding '([^']+)' denied request`)

// bindingIn is the binding that refused an object, empty if somebody else did.
func bindingIn(problem migration.Problem) string {
	if match := refusedBy.FindStringSubmatch(problem.Reason); match != nil {
		return match[1]
	}
	return ""
}

// denying are the bindings that have to let objects pass: those that refuse one now or did so in the latest run, which may have been
// one where the others only warned, and all others that deny for the same policies.
func (d *definition) denying() map[string]binding {
	refusals := slices.Clone(d.plan.Refusals)
	if d.migration.Record != nil {
		refusals = append(refusals, d.migration.Record.Refusals...)
	}
	policies, found := map[string]bool{}, map[string]binding{}
	for _, problem := range refusals {
		name := bindingIn(problem)
		if b, ok := d.bindings[name]; ok && slices.Contains(b.actions, "Deny") {
			policies[b.policy], found[name] = true, b
		}
	}
	for name, b := range d.bindings {
		if policies[b.policy] && slices.Contains(b.actions, "Deny") {
			found[name] = b
		}
	}
	return found
}

// lenientRun migrates while the bindings only warn, and then puts back what they did, also if the migration fails or is interrupted; it
// ends as the migration did. API servers take some seconds to notice a change of a binding.
func lenientRun(c Commands, d *definition, bindings map[string]binding) string {
	patch := func(name string, actions ...string) string {
		return c.kubectl("patch", "validatingadmissionpolicybinding", name, "--type=merge", "-p", `{"spec":{"validationActions":["`+strings.Join(actions, `","`)+`"]}}`)
	}
	var warn, restore []string
	for _, name := range slices.Sorted(maps.Keys(bindings)) {
		warn = append(warn, patch(name, "Warn"))
		restore = append(restore, patch(name, bindings[name].actions...)+" || CODE=1; ")
	}
	return "(restore() { CODE=$?; " + strings.Join(restore, "") + "exit $CODE; }; trap restore EXIT; trap 'exit 130' INT TERM; " +
		strings.Join(warn, " && ") + " && sleep 5 && " + c.Call("migrate", "run", d.want.Spec.Names.Singular) + ")"
}
