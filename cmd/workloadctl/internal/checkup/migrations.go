package checkup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/controllers/migration"
)

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
			findings = append(findings, pending(c, d))
		}
	}
	return findings
}

// pending names the direction of a migration that is due. Where the older version is stored, that is back, and meant only if it has
// begun: otherwise somebody has yet to take the next step.
func pending(c Commands, d *definition) Finding {
	kind := d.want.Spec.Names.Singular
	f := Finding{
		ID: "migration-pending", Severity: Warning, Object: d.object(), Problem: "is to be migrated: " + d.migration.Reason,
		Fix: c.Call("migrate", "run", kind),
	}
	if last := d.migration.Record; d.step == config.StepR2 && (last == nil || last.Target != d.migration.Target) {
		f.Problem = fmt.Sprintf("objects may be stored in %s, and step R2 stores %s: take the next step, R3, and migrate to %[1]s; or go back to %[2]s (%[3]s)",
			olderAndNewer[1], olderAndNewer[0], c.Call("migrate", "rollback", kind))
		f.Fix = c.Call("crds", "--step", string(config.StepR3), "--apply") + " && " + f.Fix
	}
	return f
}

// olderAndNewer are the versions that are stored at step R2 and from R3 on.
var olderAndNewer = [2]string{"v1alpha1", "v1"}

// refusals has a finding for each policy binding, and one for all that was refused by others.
func refusals(c Commands, d *definition) []Finding {
	byBinding := map[string][]migration.Problem{}
	for _, problem := range d.plan.Refusals {
		binding := bindingIn(problem)
		byBinding[binding] = append(byBinding[binding], problem)
	}
	var findings []Finding
	for _, binding := range slices.Sorted(maps.Keys(byBinding)) {
		problems := byBinding[binding]
		f := Finding{
			ID: "migration-refused", Severity: Error, Object: d.want.Spec.Names.Kind + " " + listed(problems),
			Problem: fmt.Sprintf("cannot be migrated from %s to %s: %s", fromOf(d), d.migration.Target, problems[0].Reason),
			Fix:     c.Call("migrate", "plan", d.want.Spec.Names.Singular),
		}
		if binding != "" {
			f.Problem += "; change the object or the policy, or let the policy only warn while migrating"
			f.Fix = lenientRun(c, d, d.denying())
		}
		findings = append(findings, f)
	}
	return findings
}

// fromOf are the versions that a migration leaves behind.
func fromOf(d *definition) string {
	var from []string
	for _, version := range d.live.Spec.Versions {
		if version.Name != d.migration.Target {
			from = append(from, version.Name)
		}
	}
	return strings.Join(from, ", ")
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
