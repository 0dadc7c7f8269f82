package checkup

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/example/workload-operator/controllers/migration"
)

// refusedBy finds the policy binding in the words of the API server.
var refusedBy = regexp.MustCompile(`ValidatingAdmissionPolicy '[^']+' with binding '([^']+)' denied request`)

// listedObjects bounds the objects that a finding names.
const listedObjects = 3

// judgeMigrations says which migrations are due, and who stands in their way.
func judgeMigrations(s *seen, c Commands) []Finding {
	var findings []Finding
	for _, d := range s.definitions {
		switch {
		case d.migration == nil || !d.migration.Pending:
		case d.plan != nil && d.plan.Refused > 0:
			findings = append(findings, refusals(c, d)...)
		default:
			findings = append(findings, Finding{
				ID: "migration-pending", Severity: Warning, Object: d.object(), Problem: "a migration is due: " + d.migration.Reason,
				Fix: c.tool("migrate", "run", d.want.Spec.Names.Singular),
			})
		}
	}
	return findings
}

// refusals has a finding for each policy binding, and one for all that was refused by others.
func refusals(c Commands, d *definition) []Finding {
	byBinding := map[string][]migration.Problem{}
	for _, problem := range d.plan.Refusals {
		binding := ""
		if match := refusedBy.FindStringSubmatch(problem.Reason); match != nil {
			binding = match[1]
		}
		byBinding[binding] = append(byBinding[binding], problem)
	}
	var findings []Finding
	for _, binding := range slices.Sorted(maps.Keys(byBinding)) {
		problems := byBinding[binding]
		f := Finding{
			ID: "migration-refused", Severity: Error, Object: d.want.Spec.Names.Kind + " " + listed(problems),
			Problem: fmt.Sprintf("cannot be migrated to %s: %s", d.migration.Target, problems[0].Reason),
			Fix:     c.tool("migrate", "plan", d.want.Spec.Names.Singular),
		}
		if binding != "" {
			f.Problem += "; change the object or the policy, or let the policy only warn while migrating:"
			f.Fix = lenientRun(c, d, binding)
		}
		findings = append(findings, f)
	}
	return findings
}

// lenientRun migrates while the binding only warns, and then puts back what the binding did, whatever came of it. API servers
// take some seconds to notice a change of a binding.
func lenientRun(c Commands, d *definition, binding string) string {
	actions := func(names []string) string {
		return c.kubectl("patch", "validatingadmissionpolicybinding", binding, "--type=merge", "-p", `{"spec":{"validationActions":["`+strings.Join(names, `","`)+`"]}}`)
	}
	former := d.bindings[binding]
	if len(former) == 0 {
		former = []string{"Deny"}
	}
	return actions([]string{"Warn"}) + " && sleep 5 && " + c.tool("migrate", "run", d.want.Spec.Names.Singular) + "; " + actions(former)
}

func listed(problems []migration.Problem) string {
	var names []string
	for _, problem := range problems {
		if len(names) == listedObjects {
			return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", len(problems)-listedObjects)
		}
		names = append(names, problem.Namespace+"/"+problem.Name)
	}
	return strings.Join(names, ", ")
}
