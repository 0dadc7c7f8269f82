package uninstall

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/workload-operator/config"
)

// hub is the version that stays.
const hub = "v1"

// fieldManager writes the definitions, and owns nothing of them in the end.
const fieldManager = "workload-operator-uninstall"

func isOwn(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == fieldManager }

// definitions are the ones of ours that are installed.
func (u *Uninstaller) definitions(ctx context.Context) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	var installed []*apiextensionsv1.CustomResourceDefinition
	for _, crd := range crds {
		live, err := u.definition(ctx, crd.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", crd.Name, err)
		}
		installed = append(installed, live)
	}
	return installed, nil
}

func (u *Uninstaller) definition(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	live := &apiextensionsv1.CustomResourceDefinition{}
	return live, u.client.Get(ctx, client.ObjectKey{Name: name}, live)
}

// used are the definitions with objects, or with one that may be stored in another version than v1. A migration of the others would do
// nothing, but wait for an operator that may never have run.
func (u *Uninstaller) used(ctx context.Context, names []string) ([]string, error) {
	var used []string
	for _, name := range names {
		live, err := u.definition(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", name, err)
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: live.Spec.Group, Version: hub, Kind: live.Spec.Names.ListKind})
		if slices.Equal(live.Status.StoredVersions, []string{hub}) {
			if err := u.client.List(ctx, list, client.Limit(1)); err != nil {
				return nil, fmt.Errorf("looking for objects of %s: %w", name, err)
			}
			if len(list.Items) == 0 {
				continue
			}
		}
		used = append(used, name)
	}
	return used, nil
}

// take brings the named definitions to a step, or none: all are judged before the first is written.
func (u *Uninstaller) take(ctx context.Context, step config.Step, names []string) error {
	crds, err := config.CRDsAt(step)
	if err != nil {
		return err
	}
	crds = slices.DeleteFunc(crds, func(crd *apiextensionsv1.CustomResourceDefinition) bool { return !slices.Contains(names, crd.Name) })
	for _, crd := range crds {
		if _, _, err := u.plan(ctx, crd); err != nil {
			return fmt.Errorf("%s cannot be brought to step %s: %w", crd.Name, step, err)
		}
	}
	for _, crd := range crds {
		if err := u.change(ctx, crd); err != nil {
			return fmt.Errorf("bringing %s to step %s: %w", crd.Name, step, err)
		}
	}
	return nil
}

// plan returns a definition and what the step makes of it. The error says why it must not.
func (u *Uninstaller) plan(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (live, next *apiextensionsv1.CustomResourceDefinition, err error) {
	if live, err = u.definition(ctx, crd.Name); err != nil {
		return nil, nil, err
	}
	next = live.DeepCopy()
	next.Spec = *crd.Spec.DeepCopy()
	if stanza := next.Spec.Conversion.Webhook; stanza != nil {
		if stanza.ClientConfig, err = u.clientConfig(ctx, live); err != nil {
			return nil, nil, err
		}
	}
	return live, next, u.options.Judge(ctx, live, next)
}

// change writes a definition, on condition that it still is what was judged; otherwise it is judged again. A definition that is at
// the step is not written: every write makes the API server fill its caches anew.
func (u *Uninstaller) change(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		live, next, err := u.plan(ctx, crd)
		if err != nil || equality.Semantic.DeepEqual(live.Spec, next.Spec) {
			return err
		}
		return u.client.Update(ctx, next, client.FieldOwner(fieldManager))
	})
}

// disown takes this manager out of managedFields. Whoever installs the definitions again by server-side apply, as Helm does,
// would meet a conflict otherwise.
func (u *Uninstaller) disown(ctx context.Context, names []string) error {
	for _, name := range names {
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			live, err := u.definition(ctx, name)
			if err != nil || !slices.ContainsFunc(live.ManagedFields, isOwn) {
				return err
			}
			live.ManagedFields = slices.DeleteFunc(live.ManagedFields, isOwn)
			return u.client.Update(ctx, live, client.FieldOwner(fieldManager))
		})
		if err != nil {
			return fmt.Errorf("giving up CustomResourceDefinition %s: %w", name, err)
		}
	}
	return nil
}

// clientConfig is how a definition reaches its conversion webhook. One that does not convert yet gets the Service and the caBundle of
// the operator's webhook configuration, in the very write that begins to convert, so that no request is refused for want of it.
func (u *Uninstaller) clientConfig(ctx context.Context, live *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.WebhookClientConfig, error) {
	if conversion := live.Spec.Conversion; conversion != nil && conversion.Webhook != nil && conversion.Webhook.ClientConfig != nil {
		return conversion.Webhook.ClientConfig.DeepCopy(), nil
	}
	configurations, err := u.webhooks(ctx)
	if err != nil {
		return nil, err
	}
	for _, configuration := range configurations {
		validating, ok := configuration.(*admissionv1.ValidatingWebhookConfiguration)
		if !ok {
			continue
		}
		for _, webhook := range validating.Webhooks {
			if from := webhook.ClientConfig; isOurs(webhook.Name) && from.Service != nil {
				path := "/convert"
				return &apiextensionsv1.WebhookClientConfig{CABundle: from.CABundle, Service: &apiextensionsv1.ServiceReference{
					Namespace: from.Service.Namespace, Name: from.Service.Name, Port: from.Service.Port, Path: &path,
				}}, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no conversion webhook, and there is no configuration of the operator's webhooks to learn its Service from", live.Name)
}
