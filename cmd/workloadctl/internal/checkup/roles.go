package checkup

import (
	"bytes"
	_ "embed" // the roles
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// rolesFile has the operator's roles of config/rbac; a test keeps it equal to them.
//
//go:embed roles.yaml
var rolesFile []byte

// role is one of the operator's, without the prefix of its name.
type role struct {
	name       string
	namespaced bool
	rules      []rbacv1.PolicyRule
}

// operatorRoles are those that are bound to the operator's ServiceAccount.
func operatorRoles() ([]role, error) {
	var roles []role
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(rolesFile), 4096)
	for {
		object := &rbacv1.ClusterRole{} // a Role has the same fields
		switch err := decoder.Decode(object); {
		case errors.Is(err, io.EOF):
			return roles, nil
		case err != nil:
			return nil, fmt.Errorf("reading the operator's roles: %w", err)
		case object.Name != "":
			roles = append(roles, role{object.Name, object.Kind == "Role", object.Rules})
		}
	}
}

// access is one thing that a rule allows. Several names and verbs of the same resource are several accesses.
func (r *role) accesses(s *seen) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, rule := range r.rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						attributes := authorizationv1.ResourceAttributes{Group: group, Verb: verb, Name: s.installedName(resource, name)}
						attributes.Resource, attributes.Subresource, _ = strings.Cut(resource, "/")
						if r.namespaced {
							attributes.Namespace = s.service.Namespace
						}
						all = append(all, attributes)
					}
				}
			}
		}
	}
	return all
}

// installedName is the name in the cluster of an object that a rule names.
func (s *seen) installedName(resource, name string) string {
	switch {
	case name == "":
		return ""
	case resource == "secrets":
		return s.secretName
	case resource == "validatingwebhookconfigurations" && s.validating != nil:
		return s.validating.Name
	case resource == "mutatingwebhookconfigurations" && s.mutating != nil:
		return s.mutating.Name
	case strings.HasSuffix(resource, "webhookconfigurations"):
		return prefixOf(s) + name
	}
	return name
}

// deniedRole is a role of which the ServiceAccount lacks something.
type deniedRole struct {
	role    role
	account string // NAMESPACE/NAME
	denied  []authorizationv1.ResourceAttributes
	// exists and bound say whether the role, and a binding of it by the name that is installed, are there.
	exists, bound bool
}

// judgeRoles says what the operator must be allowed and is not.
func judgeRoles(s *seen, c Commands) []Finding {
	var findings []Finding
	for _, d := range s.denied {
		namespace, name, _ := strings.Cut(d.account, "/")
		prefix := strings.TrimSuffix(name, "controller-manager")
		kind, create := "ClusterRole", []string{"create", "clusterrolebinding"}
		if d.role.namespaced {
			kind, create = "Role", []string{"-n", namespace, "create", "rolebinding"}
		}
		f := Finding{
			ID: "permission-missing", Severity: Error, Object: "ServiceAccount " + d.account, Fix: reinstall(s, c),
			Problem: fmt.Sprintf("may not %s (%s %s)", spell(d.denied), kind, prefix+d.role.name),
		}
		if d.exists && !d.bound {
			binding := prefix + strings.TrimSuffix(d.role.name, "role") + "rolebinding"
			f.Fix = c.kubectl(append(create, binding, "--"+strings.ToLower(kind)+"="+prefix+d.role.name, "--serviceaccount="+namespace+":"+name)...)
		}
		findings = append(findings, f)
	}
	return findings
}

// spell names accesses, the first few of them.
func spell(denied []authorizationv1.ResourceAttributes) string {
	const few = 4
	var all []string
	for _, a := range denied {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		if a.Group != "" {
			resource += "." + a.Group
		}
		if one := a.Verb + " " + resource; !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if len(all) > few {
		return strings.Join(all[:few], ", ") + fmt.Sprintf(" and %d more", len(all)-few)
	}
	return strings.Join(all, ", ")
}
