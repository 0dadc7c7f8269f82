package claims

import (
	"fmt"
	"slices"
	"strings"
)

// Claim is what one operator takes for itself. The zero value is every namespace.
type Claim struct {
	// Namespaces that the operator reconciles. None means every namespace that Except does not name.
	Namespaces []string `json:"namespaces,omitempty"`
	// Except names the namespaces that are left to others.
	Except []string `json:"except,omitempty"`
	// Webhooks says that the operator also does what only one can do for the cluster: it serves the webhooks, keeps their
	// certificates and migrates stored objects.
	Webhooks bool `json:"webhooks,omitempty"`
}

// overlap says what both want, in words; empty means that they can work side by side.
func (c Claim) overlap(other Claim) string {
	var both []string
	switch everyC, everyOther := len(c.Namespaces) == 0, len(other.Namespaces) == 0; {
	case everyC && everyOther:
		return "namespaces that neither of the two excepts"
	case everyC:
		both = slices.DeleteFunc(slices.Clone(other.Namespaces), func(name string) bool { return slices.Contains(c.Except, name) })
	case everyOther:
		both = slices.DeleteFunc(slices.Clone(c.Namespaces), func(name string) bool { return slices.Contains(other.Except, name) })
	default:
		both = slices.DeleteFunc(slices.Clone(c.Namespaces), func(name string) bool { return !slices.Contains(other.Namespaces, name) })
	}
	slices.Sort(both)
	switch {
	case len(both) == 1:
		return "namespace " + both[0]
	case len(both) > 1:
		return "namespaces " + strings.Join(both, ", ")
	case c.Webhooks && other.Webhooks:
		return "the webhooks"
	}
	return ""
}

// obstacle is what keeps an operator from working: another one holds what it wants.
type obstacle struct {
	shard, holder string // names of the operator that stays out, and of the other one; the operator without --shard has none
	what          string // both want
	process       string // leads the other operator, or is empty
}

// err says who holds what, and what to do.
func (o *obstacle) err() error {
	holder, advice := fmt.Sprintf("shard %q", o.holder), ""
	switch {
	case o.what == "the webhooks":
		advice = "start one of the two with --webhooks=false"
	case o.holder == "":
		holder = "the operator without --shard"
		advice = "restart that one with --except-namespaces, or this one with other --namespaces"
	case o.shard == "":
		advice = "restart this operator with --except-namespaces, or that shard with other --namespaces"
	default:
		advice = "restart one of the two with other --namespaces"
	}
	process := o.process
	if process == "" {
		process = "nobody now"
	}
	return fmt.Errorf("%s claimed by %s (%s): %s; until then nothing is reconciled here", verb(o.what), holder, process, advice)
}

func verb(what string) string {
	if strings.HasPrefix(what, "namespace ") {
		return what + " is"
	}
	return what + " are"
}
