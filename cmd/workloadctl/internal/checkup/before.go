package checkup

import (
	"context"
	"errors"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"

	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/config/guard"
)

// oldestCluster takes everything that the definitions and the guard use. The youngest of it is the CEL library "format" of 1.31, and an
// API server takes new expressions that its former release would understand, too.
const oldestCluster = "1.32.0"

// Before reports what would stand in the way of installing or upgrading to a step. The error says that the cluster could not be
// asked.
func (c *Checkup) Before(ctx context.Context, step config.Step) (*Report, error) {
	s := &seen{release: c.options.Release}
	if err := c.readDefinitions(ctx, s); err != nil {
		return nil, err
	}
	report := &Report{Definitions: s.summary(), Findings: []Finding{}}
	for _, judge := range []func(context.Context, *seen, config.Step) ([]Finding, error){
		c.judgeCluster, c.judgePermissions, c.judgeSteps, c.judgeOwners,
	} {
		findings, err := judge(ctx, s, step)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			report.Unseen = append(report.Unseen, oneLine(err))
		}
		report.Findings = append(report.Findings, findings...)
	}
	return report, nil
}

func (c *Checkup) judgeCluster(context.Context, *seen, config.Step) ([]Finding, error) {
	d, err := discovery.NewDiscoveryClientForConfig(c.options.Config)
	if err != nil {
		return nil, err
	}
	info, err := d.ServerVersion()
	if err != nil {
		return nil, wrap("asking for the version of the cluster", err)
	}
	found, err := version.ParseGeneric(info.GitVersion)
	if err != nil {
		return nil, wrap("reading the version of the cluster", err)
	}
	return clusterAge(found, c.options.Commands), nil
}

func clusterAge(found *version.Version, commands Commands) []Finding {
	if found.AtLeast(version.MustParseGeneric(oldestCluster)) {
		return nil
	}
	return []Finding{{
		ID: "cluster-version", Severity: Error, Object: "Cluster", Fix: commands.kubectl("version"),
		Problem: fmt.Sprintf("is Kubernetes %s; the definitions need %s or later: upgrade the cluster first", found, strings.TrimSuffix(oldestCluster, ".0")),
	}}
}

// installs are the kinds that an installation consists of.
var installs = []authorizationv1.ResourceAttributes{
	{Resource: "namespaces"}, {Resource: "serviceaccounts"}, {Resource: "services"},
	{Group: "apps", Resource: "deployments"},
	{Group: "policy", Resource: "poddisruptionbudgets"},
	{Group: "networking.k8s.io", Resource: "networkpolicies"},
	{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
	{Group: "rbac.authorization.k8s.io", Resource: "roles"}, {Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	{Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, {Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"},
	{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicybindings"},
}

// judgePermissions asks whether the user may write what an installation consists of, and hand out what its roles allow.
func (c *Checkup) judgePermissions(ctx context.Context, _ *seen, _ config.Step) ([]Finding, error) {
	var denied []authorizationv1.ResourceAttributes
	var asked []authorizationv1.ResourceAttributes
	for _, resource := range installs {
		for _, verb := range []string{"get", "create", "patch"} {
			resource.Verb = verb
			asked = append(asked, resource)
		}
	}
	for i := range asked {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &asked[i]}}
		if err := c.client.Create(ctx, review); err != nil {
			return nil, wrap("asking for your permissions", err)
		}
		if !review.Status.Allowed {
			denied = append(denied, asked[i])
		}
	}
	if len(denied) == 0 {
		return nil, nil
	}
	who := &authenticationv1.SelfSubjectReview{}
	if err := c.client.Create(ctx, who); err != nil {
		return nil, wrap("asking who you are", err)
	}
	user := who.Status.UserInfo.Username
	return []Finding{{
		ID: "installer-permission", Severity: Error, Object: "User " + user, Problem: "may not " + spell(denied) + ": an administrator has to allow it",
		Fix: "kubectl " + Words([]string{"create", "clusterrolebinding", "workload-operator-installer", "--clusterrole=cluster-admin", "--user=" + user}),
	}}, nil
}

// judgeSteps asks the guard whether the definitions may be brought to the step, and finds definitions of somebody else.
func (c *Checkup) judgeSteps(ctx context.Context, s *seen, step config.Step) ([]Finding, error) {
	crds, err := config.CRDsAt(step)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for i, d := range s.definitions {
		f := Finding{ID: "step-refused", Severity: Error, Object: d.object()}
		if d.live != nil && d.live.Spec.Names.Kind != crds[i].Spec.Names.Kind {
			f.ID, f.Problem = "definition-foreign", fmt.Sprintf("is somebody else's: its kind is %s instead of %s", d.live.Spec.Names.Kind, crds[i].Spec.Names.Kind)
			f.Fix = c.options.Commands.kubectl("get", "crd", d.want.Name, "-o", "yaml")
			findings = append(findings, f)
			continue
		}
		if err := guard.Check(ctx, d.live, stored(crds[i], d.live)); err != nil {
			f.Problem = fmt.Sprintf("cannot go to step %s: %s", step, oneLine(err))
			f.Fix = c.stepFix(f.Problem, d, step)
			findings = append(findings, f)
		}
	}
	return findings, nil
}

// stored is the definition as it would be asked for: with the status that there is.
func stored(next, live *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	if next = next.DeepCopy(); live != nil {
		next.Status = *live.Status.DeepCopy()
	}
	return next
}

// stepFix is the command that the guard names.
func (c *Checkup) stepFix(problem string, d *definition, step config.Step) string {
	kind, commands := d.want.Spec.Names.Singular, c.options.Commands
	var fix []string
	for _, earlier := range []config.Step{config.StepR3, config.StepR4} {
		if strings.Contains(problem, "take step "+string(earlier)) {
			fix = append(fix, commands.Call("crds", "--step", string(earlier), "--apply"))
		}
	}
	switch {
	case strings.Contains(problem, "migrate rollback"):
		fix = append(fix, commands.Call("migrate", "rollback", kind))
	case strings.Contains(problem, "migrate run"):
		fix = append(fix, commands.Call("migrate", "run", kind))
	}
	if fix == nil {
		fix = append(fix, commands.Call("crds", "--step", string(step)))
	}
	return strings.Join(fix, " && ")
}

// judgeOwners finds more than one installation.
func (c *Checkup) judgeOwners(ctx context.Context, s *seen, _ config.Step) ([]Finding, error) {
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	if err := errors.Join(c.client.List(ctx, validating), c.client.List(ctx, mutating)); err != nil {
		return nil, wrap("reading webhook configurations", err)
	}
	everywhere := &Checkup{} // whatever namespace was asked for
	var owners []owner
	for i := range validating.Items {
		if to := everywhere.firstOf(validatingConfigs(&validating.Items[i])); to != nil {
			owners = append(owners, owner{"ValidatingWebhookConfiguration", validating.Items[i].Name, *to})
		}
	}
	for i := range mutating.Items {
		if to := everywhere.firstOf(mutatingConfigs(&mutating.Items[i])); to != nil {
			owners = append(owners, owner{"MutatingWebhookConfiguration", mutating.Items[i].Name, *to})
		}
	}
	return c.strangers(ctx, s, owners)
}

// owner is a webhook configuration with webhooks of an operator, and the Service of that operator.
type owner struct {
	kind, name string
	service    types.NamespacedName
}

// strangers are the owners that are not the installation to be: that in the namespace asked for, or that which converts.
func (c *Checkup) strangers(ctx context.Context, s *seen, owners []owner) ([]Finding, error) {
	home := c.options.Namespace
	for _, d := range s.definitions {
		if stanza := d.stanza(); home == "" && stanza != nil && stanza.Service != nil {
			home = stanza.Service.Namespace
		}
	}
	var findings []Finding
	for _, o := range owners {
		if home == "" || o.service.Namespace == home {
			continue
		}
		f := Finding{
			ID: "second-installation", Severity: Error, Object: o.kind + " " + o.name,
			Problem: fmt.Sprintf("belongs to another operator, with Service %s: two of them would write the same objects", o.service),
			Fix:     c.options.Commands.kubectl("-n", o.service.Namespace, "get", "deployments,services", "-l", "app.kubernetes.io/name=workload-operator"),
		}
		err := c.client.Get(ctx, o.service, &corev1.Service{})
		switch {
		case apierrors.IsNotFound(err):
			f.Problem = fmt.Sprintf("was left behind: its Service %s is gone", o.service)
			f.Fix = c.options.Commands.kubectl("delete", strings.ToLower(o.kind), o.name)
		case err != nil:
			return findings, wrap("looking for Service "+o.service.String(), err)
		}
		findings = append(findings, f)
	}
	return findings, nil
}
