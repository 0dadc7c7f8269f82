package webhooks

import (
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// unreadable stands for what no rule says: that no update may bring in a value which conversion cannot read.
const unreadable = "unreadable"

// unlisted is the field of an error that belongs to no rule of the list, such as a value that cannot be decoded.
const unlisted = "other"

// ruleFields are the fields of the rules of each kind in v1, as docs/rules.md lists them. An error names a place, which may have
// the user's own keys in it; the field of its rule has none, so it can be a label of a metric.
type ruleFields map[schema.GroupKind][]string

func ruleFieldsOf(crds []*apiextensionsv1.CustomResourceDefinition) ruleFields {
	fields := ruleFields{}
	for _, crd := range crds {
		gk := schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}
		for _, rule := range ExplainRules([]*apiextensionsv1.CustomResourceDefinition{crd}) {
			if rule.Version == hubVersion && rule.Field != "" && !slices.Contains(fields[gk], rule.Field) {
				fields[gk] = append(fields[gk], rule.Field)
			}
		}
	}
	return fields
}

// of returns the field of the rule that an error in v1 is about.
func (f ruleFields) of(gk schema.GroupKind, err *field.Error) string {
	for i := range webhookRules {
		if rule := &webhookRules[i]; rule.forKind(gk) {
			if pattern := rule.fieldOf(err); pattern != "" {
				return pattern
			}
		}
	}
	for _, pattern := range f[gk] {
		if slices.ContainsFunc(alternatives(pattern), func(path string) bool { return likePath(path, err.Field) }) {
			return pattern
		}
	}
	return unlisted
}

// count notes a refused request, once for each field. The version is one that conversion knows: others are not answered.
func (f ruleFields) count(r Request, errs field.ErrorList) {
	broken := sets.New[string]()
	for _, err := range errs {
		broken.Insert(f.of(r.Kind, err))
	}
	for rule := range broken {
		refusals.WithLabelValues(r.Kind.Kind, r.Version, rule).Inc()
	}
}
