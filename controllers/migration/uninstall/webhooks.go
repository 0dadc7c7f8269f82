package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Helm writes these annotations on every object of a release that it installs, and on no other.
const (
	helmReleaseName      = "meta.helm.sh/release-name"
	helmReleaseNamespace = "meta.helm.sh/release-namespace"
)

// webhooks are the configurations with a webhook of the operator, whatever they are called.
func (u *Uninstaller) webhooks(ctx context.Context) ([]client.Object, error) {
	validating := &admissionv1.ValidatingWebhookConfigurationList{}
	mutating := &admissionv1.MutatingWebhookConfigurationList{}
	if err := errors.Join(u.client.List(ctx, validating), u.client.List(ctx, mutating)); err != nil {
		return nil, fmt.Errorf("looking for the operator's webhook configurations: %w", err)
	}
	var ours []client.Object
	for i := range validating.Items {
		if slices.ContainsFunc(validating.Items[i].Webhooks, func(w admissionv1.ValidatingWebhook) bool { return isOurs(w.Name) }) {
			ours = append(ours, &validating.Items[i])
		}
	}
	for i := range mutating.Items {
		if slices.ContainsFunc(mutating.Items[i].Webhooks, func(w admissionv1.MutatingWebhook) bool { return isOurs(w.Name) }) {
			ours = append(ours, &mutating.Items[i])
		}
	}
	return ours, nil
}

func isOurs(webhook string) bool {
	return strings.HasSuffix(webhook, ".webapps.app.example.com") || strings.HasSuffix(webhook, ".podsets.batch.example.com")
}

// Foreign names an object of the operator that is not part of a release of Helm, "" if there is none. A hook that was applied as a
// mere manifest, and not by Helm in the course of an uninstallation, is told by it.
func (u *Uninstaller) Foreign(ctx context.Context, release client.ObjectKey) (string, error) {
	objects, err := u.webhooks(ctx)
	if err != nil {
		return "", err
	}
	definitions, err := u.definitions(ctx)
	if err != nil {
		return "", err
	}
	for _, definition := range definitions {
		objects = append(objects, definition)
	}
	for _, object := range objects {
		annotations := object.GetAnnotations()
		if annotations[helmReleaseName] != release.Name || annotations[helmReleaseNamespace] != release.Namespace {
			return strings.Replace(fmt.Sprintf("%T %s", object, object.GetName()), "*v1.", "", 1), nil
		}
	}
	return "", nil
}
