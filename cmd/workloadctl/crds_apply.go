package main

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/cmd/workloadctl/internal/checkup"
	"github.com/example/workload-operator/config"
	"github.com/example/workload-operator/config/guard"
)

// stepManager owns what a step changes.
const stepManager = "workloadctl"

// anOperatorsWebhook is in the configuration of every installation of the operator, whatever its name.
const anOperatorsWebhook = "validate-v1.webapps.app.example.com"

// stepTaker changes the definitions of a cluster.
type stepTaker struct {
	client client.Client
	// service replaces the Service of the conversion webhook; nil keeps what there is.
	service *apiextensionsv1.ServiceReference
	// commands writes what to type next.
	commands checkup.Commands
}

func newStepTaker(o *clusterOptions, service *apiextensionsv1.ServiceReference) (*stepTaker, error) {
	restConfig, err := o.config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	builder := runtime.NewSchemeBuilder(apiextensionsv1.AddToScheme, admissionv1.AddToScheme)
	if err := builder.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &stepTaker{client: c, service: service}, nil
}

// stepChange is what a step does to one definition.
type stepChange struct {
	live *apiextensionsv1.CustomResourceDefinition // nil if there is none yet
	next *apiextensionsv1.CustomResourceDefinition
	said string
	// mixed says that objects may be stored in another version than next stores.
	mixed bool
}

// needed says whether there is anything to write.
func (c *stepChange) needed() bool {
	return c.live == nil || !equality.Semantic.DeepEqual(c.live.Spec, c.next.Spec)
}

// judge reads the live definition and says what the step makes of it. The error says why it must not.
func (t *stepTaker) judge(ctx context.Context, step config.Step, crd *apiextensionsv1.CustomResourceDefinition) (*stepChange, error) {
	live := &apiextensionsv1.CustomResourceDefinition{}
	err := t.client.Get(ctx, client.ObjectKeyFromObject(crd), live)
	if apierrors.IsNotFound(err) {
		live, err = nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", crd.Name, err)
	}
	change := &stepChange{live: live, next: crd.DeepCopy(), said: "created at " + string(step)}
	if live != nil {
		change.next = live.DeepCopy()
		change.next.Spec = *crd.Spec.DeepCopy()
		change.mixed = slices.ContainsFunc(live.Status.StoredVersions, func(name string) bool { return name != storageVersion(crd) })
		change.said = presentStep(live) + " -> " + string(step)
	}
	if err := t.keepStanza(ctx, change); err != nil {
		return nil, err
	}
	if err := guard.Check(ctx, live, change.next); err != nil {
		return nil, fmt.Errorf("%s cannot go from %s to %s, nothing was written: %w", crd.Name, presentStep(live), step, err)
	}
	return change, nil
}

// presentStep names the step that a definition is at, for the user.
func presentStep(live *apiextensionsv1.CustomResourceDefinition) string {
	switch {
	case live == nil:
		return "nothing"
	case config.StepOf(live) == "":
		return "what is installed"
	}
	return string(config.StepOf(live))
}

func storageVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}

// keepStanza fills the conversion stanza, if the step has one: with what the definition has, and else with what the operator put
// into its webhook configuration. With the caBundle in the very write that begins to convert, no request is refused for want of it.
func (t *stepTaker) keepStanza(ctx context.Context, change *stepChange) error {
	stanza := change.next.Spec.Conversion.Webhook
	if stanza == nil {
		return nil
	}
	if live := clientConfigOf(change.live); live != nil {
		stanza.ClientConfig = live.DeepCopy()
	} else if err := t.borrow(ctx, stanza.ClientConfig); err != nil {
		return err
	}
	if t.service != nil {
		stanza.ClientConfig.Service = t.service.DeepCopy()
	}
	return nil
}

// clientConfigOf is how a definition reaches its conversion webhook, nil if it has none.
func clientConfigOf(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.WebhookClientConfig {
	if crd == nil || crd.Spec.Conversion == nil || crd.Spec.Conversion.Webhook == nil {
		return nil
	}
	return crd.Spec.Conversion.Webhook.ClientConfig
}

// borrow takes Service and caBundle from the webhook configuration of an installed operator, if there is one.
func (t *stepTaker) borrow(ctx context.Context, to *apiextensionsv1.WebhookClientConfig) error {
	list := &admissionv1.ValidatingWebhookConfigurationList{}
	if err := t.client.List(ctx, list); err != nil {
		return fmt.Errorf("looking for the operator's webhook configuration: %w", err)
	}
	for _, configuration := range list.Items {
		for _, webhook := range configuration.Webhooks {
			if from := webhook.ClientConfig; webhook.Name == anOperatorsWebhook && from.Service != nil {
				to.Service.Namespace, to.Service.Name, to.Service.Port = from.Service.Namespace, from.Service.Name, from.Service.Port
				to.CABundle = from.CABundle
				return nil
			}
		}
	}
	return nil
}

// change writes the definition, on condition that it still is what was judged; otherwise it is judged again.
//
// It is an update and no server-side apply: nobody but its owner could take the conversion stanza away by that, and an apply
// cannot be conditional on status.storedVersions.
func (t *stepTaker) change(ctx context.Context, step config.Step, crd *apiextensionsv1.CustomResourceDefinition) (*stepChange, error) {
	var change *stepChange
	raced := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	err := retry.OnError(retry.DefaultBackoff, raced, func() (err error) {
		if change, err = t.judge(ctx, step, crd); err != nil {
			return err
		}
		switch {
		case !change.needed():
			change.said = "at " + string(step) + " already"
			return nil
		case change.live == nil:
			return t.client.Create(ctx, change.next, client.FieldOwner(stepManager))
		}
		return t.client.Update(ctx, change.next, client.FieldOwner(stepManager))
	})
	if err != nil {
		return nil, fmt.Errorf("changing CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return change, nil
}
