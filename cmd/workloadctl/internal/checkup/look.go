package checkup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
)

const (
	defaultNamespace = "workload-operator-system"
	defaultService   = "workload-operator-webhook-service"
	defaultSecret    = "workload-operator-webhook-certs"
)

// managerLabels are on every Pod of the operator, however it was installed.
var managerLabels = client.MatchingLabels{"app.kubernetes.io/name": "workload-operator", "app.kubernetes.io/component": "manager"}

func (c *Checkup) readDefinitions(ctx context.Context, s *seen) error {
	shipped, err := config.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range shipped {
		d := &definition{want: crd, live: &apiextensionsv1.CustomResourceDefinition{}}
		err := c.client.Get(ctx, client.ObjectKeyFromObject(crd), d.live)
		switch {
		case apierrors.IsNotFound(err):
			d.live = nil
		case err != nil:
			return fmt.Errorf("reading CustomResourceDefinition %s: %w", crd.Name, err)
		default:
			if err := d.compareAt(config.StepOf(d.live)); err != nil {
				return err
			}
		}
		s.definitions = append(s.definitions, d)
	}
	return nil
}

// compareAt makes want the definition of the step.
func (d *definition) compareAt(step config.Step) error {
	if d.step = step; step == "" {
		return nil
	}
	crds, err := config.CRDsAt(step)
	if err != nil {
		return err
	}
	d.want = crds[slices.IndexFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return crd.Name == d.want.Name })]
	return nil
}

// readWebhooks finds the configurations by the names of the webhooks, and with them the Service of the operator.
func (c *Checkup) readWebhooks(ctx context.Context, s *seen) error {
	validating, mutating := &admissionv1.ValidatingWebhookConfigurationList{}, &admissionv1.MutatingWebhookConfigurationList{}
	err := errors.Join(c.client.List(ctx, validating), c.client.List(ctx, mutating))
	c.chooseWebhooks(s, validating.Items, mutating.Items)
	for _, d := range s.definitions {
		if stanza := d.stanza(); s.service.Name == "" && stanza != nil && stanza.Service != nil {
			s.service = types.NamespacedName{Namespace: stanza.Service.Namespace, Name: stanza.Service.Name}
		}
	}
	s.service.Name = cmp.Or(s.service.Name, defaultService)
	s.service.Namespace = cmp.Or(c.options.Namespace, s.service.Namespace, defaultNamespace)
	return wrap("reading webhook configurations", err)
}

// chooseWebhooks takes the first configurations that are the operator's.
func (c *Checkup) chooseWebhooks(s *seen, validating []admissionv1.ValidatingWebhookConfiguration, mutating []admissionv1.MutatingWebhookConfiguration) {
	for i := range validating {
		webhooks := validatingConfigs(&validating[i])
		if to := c.firstOf(webhooks); to != nil && s.validating == nil {
			s.validating, s.service = &validating[i], *to
		} else if url := urlOf(webhooks); url != "" && s.validating == nil {
			s.validating, s.url = &validating[i], url
		}
	}
	for i := range mutating {
		webhooks := mutatingConfigs(&mutating[i])
		to := c.firstOf(webhooks)
		if to != nil && s.mutating == nil && (s.validating == nil || s.service == *to) {
			s.mutating, s.service = &mutating[i], *to
		} else if url := urlOf(webhooks); url != "" && s.mutating == nil {
			s.mutating, s.url = &mutating[i], url
		}
	}
	if s.validating == nil && s.mutating == nil {
		s.elsewhere = firstAnywhere(validating)
	}
}

// firstAnywhere is the Service of the operator that some configuration names, in whatever namespace; empty if none does.
func firstAnywhere(configurations []admissionv1.ValidatingWebhookConfiguration) types.NamespacedName {
	everywhere := &Checkup{}
	for i := range configurations {
		if to := everywhere.firstOf(validatingConfigs(&configurations[i])); to != nil {
			return *to
		}
	}
	return types.NamespacedName{}
}

// firstOf is the Service of the first webhook that is the operator's, in the namespace that was asked for; nil if there is none.
func (c *Checkup) firstOf(webhooks map[string]admissionv1.WebhookClientConfig) *types.NamespacedName {
	for _, name := range slices.Sorted(maps.Keys(webhooks)) {
		to := webhooks[name]
		if isOperators(name) && to.Service != nil && (c.options.Namespace == "" || to.Service.Namespace == c.options.Namespace) {
			service := serviceOf(to)
			return &service
		}
	}
	return nil
}

// urlOf is where the first of the operator's webhooks is that is called by URL, empty if there is none.
func urlOf(webhooks map[string]admissionv1.WebhookClientConfig) string {
	for _, name := range slices.Sorted(maps.Keys(webhooks)) {
		if to := webhooks[name]; isOperators(name) && to.URL != nil {
			return *to.URL
		}
	}
	return ""
}

func validatingConfigs(configuration *admissionv1.ValidatingWebhookConfiguration) map[string]admissionv1.WebhookClientConfig {
	all := map[string]admissionv1.WebhookClientConfig{}
	for _, w := range configuration.Webhooks {
		all[w.Name] = w.ClientConfig
	}
	return all
}

func mutatingConfigs(configuration *admissionv1.MutatingWebhookConfiguration) map[string]admissionv1.WebhookClientConfig {
	all := map[string]admissionv1.WebhookClientConfig{}
	for _, w := range configuration.Webhooks {
		all[w.Name] = w.ClientConfig
	}
	return all
}

// isOperators says whether a webhook is one of an operator, however that was installed.
func isOperators(webhook string) bool {
	return slices.ContainsFunc(kindsOfWebhooks, func(kind string) bool { return strings.HasSuffix(webhook, kind) })
}

func serviceOf(to admissionv1.WebhookClientConfig) types.NamespacedName {
	return types.NamespacedName{Namespace: to.Service.Namespace, Name: to.Service.Name}
}

func (c *Checkup) readService(ctx context.Context, s *seen) error {
	service := &corev1.Service{}
	err := c.client.Get(ctx, s.service, service)
	if !apierrors.IsNotFound(err) {
		s.live = service // also when it cannot be seen: whether the webhooks answer says more
	}
	return wrap("reading Service "+s.service.String(), client.IgnoreNotFound(err))
}

func (c *Checkup) readDeployment(ctx context.Context, s *seen) error {
	deployments, pods := &appsv1.DeploymentList{}, &corev1.PodList{}
	namespace := client.InNamespace(s.service.Namespace)
	if err := c.client.List(ctx, deployments, namespace); err != nil {
		s.deploymentHidden = true
		return wrap("listing Deployments of namespace "+s.service.Namespace, err)
	}
	for i := range deployments.Items {
		labels := deployments.Items[i].Spec.Template.Labels
		if !slices.ContainsFunc([]string{"app.kubernetes.io/name", "app.kubernetes.io/component"}, func(key string) bool { return labels[key] != managerLabels[key] }) {
			s.deployment = &deployments.Items[i]
		}
	}
	err := c.client.List(ctx, pods, namespace, managerLabels)
	for i := range pods.Items {
		s.pods = append(s.pods, &pods.Items[i])
	}
	return wrap("listing the operator's Pods", err)
}

// readOutside finds out whether the manager runs as a process somewhere else, as make run has it: its webhooks are called by URL, or it
// renews its Lease although no Deployment runs it.
func (c *Checkup) readOutside(ctx context.Context, s *seen) error {
	if s.deployment != nil || s.deploymentHidden {
		return nil
	}
	if s.url != "" {
		s.outside = "its webhooks are called at " + s.url
		return nil
	}
	leases := &coordinationv1.LeaseList{}
	err := c.client.List(ctx, leases, client.InNamespace(s.service.Namespace))
	for i := range leases.Items {
		if holder := holderOf(&leases.Items[i], s.now); holder != "" {
			s.outside = fmt.Sprintf("no Deployment runs it, and %s holds the Lease %s", holder, leases.Items[i].Name)
		}
	}
	return wrap("looking for the operator's Lease", err)
}

// holderOf is who renews a Lease of the operator, empty if nobody does.
func holderOf(lease *coordinationv1.Lease, now time.Time) string {
	spec := lease.Spec
	if !strings.HasPrefix(lease.Name, "workload-operator") || spec.HolderIdentity == nil || spec.RenewTime == nil || spec.LeaseDurationSeconds == nil ||
		now.After(spec.RenewTime.Add(time.Duration(*spec.LeaseDurationSeconds)*time.Second)) {
		return ""
	}
	return *spec.HolderIdentity
}

func (c *Checkup) readSecret(ctx context.Context, s *seen) error {
	s.secretName = cmp.Or(s.argument("certificate-secret"), defaultSecret)
	secret := &corev1.Secret{}
	err := c.client.Get(ctx, types.NamespacedName{Namespace: s.service.Namespace, Name: s.secretName}, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		s.secretHidden = true
		return wrap("reading the Secret of the serving certificate", err)
	}
	s.secret = secret
	return nil
}

// readGuard looks for a binding that denies by a policy that judges our definitions.
func (c *Checkup) readGuard(ctx context.Context, s *seen) error {
	policies, bindings := &admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{}
	if err := errors.Join(c.client.List(ctx, policies), c.client.List(ctx, bindings)); err != nil {
		s.guardHidden = true
		return wrap("reading admission policies", err)
	}
	for _, policy := range policies.Items {
		if !strings.HasSuffix(policy.Name, "crd-guard") {
			continue
		}
		s.guarded = s.guarded || slices.ContainsFunc(bindings.Items, func(b admissionv1.ValidatingAdmissionPolicyBinding) bool {
			return b.Spec.PolicyName == policy.Name && slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
		})
	}
	return nil
}

// readMigrations asks who would refuse if a run was refused something.
func (c *Checkup) readMigrations(ctx context.Context, s *seen) error {
	var errs []error
	for _, d := range s.definitions {
		if d.live == nil {
			continue
		}
		status, err := c.engine.Status(ctx, d.want.Name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.migration = status
		if !status.Pending || status.Record == nil || status.Record.Refused == 0 {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, planTimeout)
		d.plan, err = c.engine.Plan(limited, d.want.Name)
		cancel()
		errs = append(errs, wrap("asking who refuses", err), c.readBindings(ctx, d))
	}
	return errors.Join(errs...)
}

// readBindings notes what the bindings of policies are told to do, if somebody refuses.
func (c *Checkup) readBindings(ctx context.Context, d *definition) error {
	if d.plan == nil || d.plan.Refused == 0 {
		return nil
	}
	bindings := &admissionv1.ValidatingAdmissionPolicyBindingList{}
	if err := c.client.List(ctx, bindings); err != nil {
		return wrap("reading the bindings of policies", err)
	}
	d.bindings = map[string]binding{}
	for _, b := range bindings.Items {
		noted := binding{policy: b.Spec.PolicyName}
		for _, action := range b.Spec.ValidationActions {
			noted.actions = append(noted.actions, string(action))
		}
		d.bindings[b.Name] = noted
	}
	return nil
}

func wrap(activity string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", activity, err)
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
